"""Linear systems of graphs: conjugate gradients, whose cost is that of the pairs compared."""

from gbrank.core import kernel


@kernel()
def multiply(low, high, weight, n_pairs, ridge, x, n_documents, out):
    """Write ``(L + ridge I) x``, with L the Laplacian of the weighted pairs.

    Pairs come sorted by ``low``, so that what flows out of a document is summed in a register.
    """
    for document in range(n_documents):
        out[document] = ridge * x[document]
    pair = 0
    while pair < n_pairs:
        document = low[pair]
        here = x[document]
        total = 0.0
        while pair < n_pairs and low[pair] == document:
            flow = weight[pair] * (here - x[high[pair]])
            out[high[pair]] -= flow
            total += flow
            pair += 1
        out[document] += total


@kernel()
def solve(low, high, weight, n_pairs, ridge, right, n_documents, tolerance, scratch, x):
    """Solve ``(L + ridge I) x = right`` from x = 0, to ``|residual| <= tolerance |right|``.

    With ``ridge = 0`` the right side must sum to 0 over each component; x is then one of the
    solutions. Preconditioned with the diagonal. ``scratch`` has four rows.
    """
    residual, direction, product, diagonal = scratch[0], scratch[1], scratch[2], scratch[3]
    for document in range(n_documents):
        diagonal[document] = ridge
    for pair in range(n_pairs):
        diagonal[low[pair]] += weight[pair]
        diagonal[high[pair]] += weight[pair]
    squares = 0.0
    fit = 0.0
    for document in range(n_documents):
        if diagonal[document] <= 0.0:
            diagonal[document] = 1.0
        x[document] = 0.0
        residual[document] = right[document]
        direction[document] = right[document] / diagonal[document]
        squares += right[document] * right[document]
        fit += right[document] * direction[document]
    enough = tolerance * tolerance * squares
    for _ in range(4 * n_documents + 20):
        if squares <= enough:
            return
        multiply(low, high, weight, n_pairs, ridge, direction, n_documents, product)
        hessian = 0.0
        for document in range(n_documents):
            hessian += direction[document] * product[document]
        if hessian <= 0.0:
            return
        step = fit / hessian
        squares = 0.0
        next_fit = 0.0
        for document in range(n_documents):
            x[document] += step * direction[document]
            residual[document] -= step * product[document]
            squares += residual[document] * residual[document]
            next_fit += residual[document] * residual[document] / diagonal[document]
        ratio = next_fit / fit
        fit = next_fit
        for document in range(n_documents):
            direction[document] = residual[document] / diagonal[document] + (
                ratio * direction[document]
            )
