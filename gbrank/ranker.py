"""Ranker: a scikit-learn estimator that trains LightGBM on any of the objectives."""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from gbrank.boosting import (
    AUTO,
    DEFAULT_OBJECTIVE,
    ONE_BOOSTER,
    PRESETS,
    Blend,
    Boosted,
    CheckedMetric,
    GrownMember,
    HeldOut,
    HintsAtParameters,
    Member,
    Part,
    SavedByName,
    TrainingOptions,
    blend_members,
    boost,
    check_columns,
    check_columns_of_categories,
    check_dataset,
    check_fitted_values,
    check_no_placeholders,
    check_other_params,
    check_prediction_arguments,
    counted_in_rows,
    cross_fit,
    cut_parts,
    describe_size,
    evaluation_arguments,
    feature_names,
    first_trees_of,
    gain_of_variance,
    in_lightgbm_units,
    is_model_file,
    lightgbm_params,
    linear_limits,
    mean_hessian,
    merge_models,
    part_shares,
    read_lightgbm_model,
    read_model,
    resolve_preset,
    rows_of,
    search_space,
    split_point,
    warn_of_no_splits,
    with_seeds_of_later_trees,
    write_model,
)
from gbrank.clicks import (
    as_propensities,
    ips_ndcg,
    judged_rows,
    judging_metric,
    plan_training,
)
from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    RankingData,
    align_columns,
    as_lightgbm_input,
    batches,
    check_choice,
    check_columns_of_ids,
    check_labels,
    check_noise_matrix,
    check_positions,
    check_seed,
    column_names,
    corrected_gain,
    count_rows_of,
    describe_queries,
    hash_queries,
    hold_out_queries,
    is_sequence,
    is_table,
    number_distinct_rows,
    numbered_columns,
    one_column,
    plain_features,
    resolve_n_jobs,
    take_column,
    take_rows,
    warn_of_seen_queries,
)
from gbrank.metrics import Metric, feval, get_metric, text_table
from gbrank.objectives import (
    GainPairwise,
    LearnsBias,
    Objective,
    PositionBias,
    YetiLoss,
    get_objective,
    objective_name,
    split_labels,
    with_label_matrix,
    with_labels_of,
)
from gbrank.preferences import BoundObservations, Observations
from gbrank.serving import (
    CompiledModel,
    Explanation,
    Export,
    PairExplanation,
    compile_model,
    explain,
    explain_pair,
    export,
)
from gbrank.start import Start, add_up, check_start, fit_starts

__all__ = ["Members", "Ranker", "make_member", "read_rows", "resolve_objective", "set_trained"]


class Ranker(HintsAtParameters, BaseEstimator):
    """Gradient boosted trees for ranking: LightGBM's trees, any of gbrank's losses.

    Parameters are named as in LightGBM's scikit-learn interface. Their defaults are not LightGBM's:
    they were chosen on held-out queries, for the best ranking without tuning
    (``benchmarks/results/defaults`` says how). ``preset="lightgbm"`` has the others.

    As it comes it finds out by itself how many trees to grow, and of which losses. Whole queries
    are cut into folds. Two members, xendcg from a linear start and LambdaMART from zero, have a
    booster per fold, grown on the other folds, and one that sees all queries and counts as much as
    those of the folds together. All grow in step, and a member stops where ``eval_metric`` on all
    held-out queries together is best. Members are blended, with the linear start alone as a third,
    by how surely each ranks held-out queries worse than the best (:mod:`gbrank.boosting.blend`),
    into one sum of trees that is saved and predicts as any other. The more boosters, the longer
    training and predicting take.

    Parameters
    ----------
    objective : str or Objective, default=None
        A name from :func:`gbrank.list_objectives` or an instance, e.g. ``LambdaMART(sigmoid=2)``.
        ``None`` stands for what the preset says: "xendcg", or several. One that is given is the
        only loss, whatever the preset.
    preset : {"auto", "fast", "balanced", "best", "lightgbm"}, default="auto"
        What is trained, and what parameters are that are ``None``. "balanced": two losses, three
        folds and the whole, up to 500 trees each. "best": five folds. "fast": one booster of 100
        trees.
        "lightgbm": one booster as LightGBM's own defaults have it, from zero, with penalties in
        LightGBM's units. "auto": "balanced", or "fast" for what only one booster can do: evaluation
        sets, callbacks, a Dataset or Sequence, preferences without labels, ``init_model``,
        ``warm_start``, a start that is not made of trees, metrics that are functions, boosting by
        "dart" or "rf". With more than 100,000 rows "balanced" and "best" hold out one part of the
        queries, ``validation_fraction``, instead of folds; with fewer than 5 queries a fold there
        are fewer folds, and with fewer than 10 queries one booster, as in "fast".
    n_estimators : int, default=None
        Number of trees: 100, or at most 500 of each booster in "balanced" and "best". With
        evaluation sets "auto" is one booster of at most 1,000, which stops early.
    learning_rate : float, default=None
        Shrinkage of each tree; ``None`` for 0.1, in "fast" for 0.03.
    num_leaves : int, default=31
        Leaves of a tree.
    max_depth : int, default=-1
        Depth of a tree; -1 for no limit.
    min_child_samples : int, default=None
        Rows that a leaf needs; ``None`` for 20.
    min_child_weight : float, default=None
        Sum of hessians that a leaf needs, in documents; ``None`` for 1e-9. As ``min_split_gain``,
        ``reg_alpha``, ``reg_lambda`` and LightGBM's ``cat_l2`` and ``cat_smooth`` it means the same
        for every loss: a document has the mean hessian that it has where boosting starts, and these
        penalties are multiplied by it. In ``preset="lightgbm"``, and what ``lgb_params`` has of
        them, is in LightGBM's own units, which differ between losses by a factor of thousands.
    min_split_gain : float, default=0.0
        Gain that a split needs.
    subsample : float, default=None
        Share of rows drawn every ``subsample_freq`` trees; ``None`` for 0.7.
    subsample_freq : int, default=None
        0 draws no rows; ``None`` for 1, of LambdaMART in a blend for 0.
    subsample_for_bin : int, default=200000
        Rows from which feature bins are made.
    colsample_bytree : float, default=None
        Share of features a tree may use; ``None`` for 0.5.
    reg_alpha : float, default=0.0
        L1 penalty on leaf values.
    reg_lambda : float, default=None
        L2 penalty on leaf values, in documents; ``None`` for 20.
    boosting_type : str, default="gbdt"
        LightGBM's ``boosting``.
    importance_type : {"gain", "split"}, default="gain"
        What ``feature_importances_`` counts: by how much splits of a feature lessen the loss, a
        linear start included, as if trees had grown it; or how often trees split on a feature,
        of which a start has no number.
    eval_metric : str, callable or list of them, default="ndcg@10"
        What is computed on evaluation sets, e.g. "ndcg@5" or "map@10"; the first decides early
        stopping, is what :meth:`score` returns and what :class:`gbrank.YetiLoss` optimises if it
        was given no metric; the others are only reported.
    early_stopping_rounds : int, default=None
        Stop when the first metric has not improved on the first evaluation set for so many trees;
        ``None`` for never. In "balanced" and "best" on the held-out queries, and ``None`` for 25.
        ``None`` is 50 where ``preset="auto"`` gets an evaluation set and no ``n_estimators``; not
        with callbacks, which may stop by themselves, ``init_model`` or ``warm_start``.
    validation_fraction : float, default=0.1
        Share of the queries that one booster holds out to stop early by, if :meth:`fit` gets no
        evaluation set; and of those that "balanced" and "best" hold out where rows are too many for
        folds. ``None`` makes either an error instead.
    start : {"auto", "zero", "linear", "query_linear"}, estimator or callable, default="auto"
        Where boosting starts. "linear": from a :class:`gbrank.linear.LinearRanker` of at most 24
        features in few steps, which becomes part of the trees. "query_linear": from one on features
        relative to their query, stronger where absolute values mean little; :meth:`predict` then
        needs ``qid``. "auto": "linear", if
        there are labels and up to 1,000 features in memory, else "zero", which it always is in
        ``preset="lightgbm"``. An estimator: from what
        a copy of it predicts, which is fitted to the training rows first if it is not fitted. A
        function of ``X``: from what it returns. Where there are labels, the scores of either are
        multiplied by the factor that suits the loss, ``start_factor_``.
    noise : array of shape (n_grades, n_grades), default=None
        How labels were corrupted: ``noise[l, u]`` is the probability of label ``l`` given the true
        grade ``u``, as :func:`gbrank.noise.diagnose` estimates it. Gains are then corrected
        (:func:`gbrank.gains.corrected_gain`), of an objective that can take it: ``Squared``, ``KL``
        or ``GainPairwise`` with ``norm=None``, others are an error. With ``objective=None`` it is
        ``GainPairwise(norm=None)``.
    warm_start : bool, default=False
        Whether :meth:`fit` goes on from the trees of the last call, up to ``n_estimators`` in all.
    qid : str, default=None
        Name of the column of ``X`` that holds query ids, if it has one. It is not a feature.
        :meth:`fit` and :meth:`score` then need no ``qid``, so that scikit-learn's tools work
        without metadata routing.
    lgb_params : dict, default=None
        Any other LightGBM parameters, e.g. ``{"monotone_constraints": [1, 0, -1]}``. Those of
        LightGBM's own losses (``label_gain``, ``sigmoid``, ``lambdarank_truncation_level``,
        ``lambdarank_norm``, ``objective_seed``) hold for an objective that was not given them.
    random_state : int, default=None
        Seed of LightGBM, and of an objective that was not given one. ``None`` stands for 0.
    n_jobs : int, default=None
        Threads, of LightGBM and of the objective; ``None`` for all CPUs.
    verbose : int, default=-1
        -1 is silent, 0 shows LightGBM's warnings, 1 a progress bar too (tqdm's if installed),
        what a blend is made of, and what the model costs to serve, 2 all that LightGBM has to say.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The trained model.
    preset_ : str
        The preset that was trained: what "auto" stood for.
    hessian_unit_ : float
        Mean hessian of a document where boosting started, which penalties were multiplied by; of
        one booster.
    objective_ : Objective
        The objective it was trained with; of several, the first.
    best_iteration_ : int
        Number of trees that :meth:`predict` uses, not counting those of a linear start.
    n_start_trees_ : int
        Number of trees that a linear start is made of; they come first in ``booster_``.
    n_boosters_ : int
        Number of boosters whose weighted sum the model is.
    cv_score_ : float
        Of "balanced" and "best", as the next three: ``eval_metric`` of the training queries, as
        far as they were held out, by boosters that did not see them, blended. Slightly too good, as
        the number of trees and the weights were chosen by it. NaN if there were too few queries.
    cv_score_se_ : float
        Its standard error over queries.
    cv_predictions_ : array of shape (n_rows,)
        These out-of-fold scores, on the scale of :meth:`predict`; NaN for rows that were never held
        out. Not part of a saved model.
    members_ : list of dict
        What the model is blended from: "name", "trees" of all boosters together, "weight" (they sum
        to 1; 0 for what was left out) and "cv_score".
    start_kind_ : {"zero", "linear", "query_linear", "model"}
        Where boosting started.
    start_model_ : estimator or callable
        The copy of ``start`` that boosting started from; ``None`` where that was none.
    start_factor_ : float
        What its scores are multiplied by, so that boosting starts on the scale of the loss.
    linear_coef_ : array of shape (n_features,) or None
        How the score of a linear start rises with each feature: from its lowest to its highest
        values, or per standard deviation within the query.
    bias_, positions_ : arrays of shape (n_positions,)
        Of ``unbiased="additive"`` and ``"dual"``: the bias of positions that was learned, no part
        of predictions, and the positions.
    evals_result_ : dict
        Metric values on the evaluation sets ("valid_0", ...), tree by tree; in "balanced" and
        "best", of each member on the held-out queries.
    evals_start_ : dict
        The same metrics before the first tree: of the start alone. Not of a Dataset, nor of a
        metric that is a function, nor where training went on from another model.
    training_queries_ : array of shape (2, n_queries) or None
        Hashes of the query ids, and their numbers of rows, by which :meth:`score` notices queries
        that training saw. Not part of a saved model.
    feature_importances_ : array of shape (n_features,)
        With what gain, or how often, each feature is split on. Gains count a linear start, too, and
        of several boosters what each weighs; a start that is another model is not counted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where the input had names.
    column_names_ : list of str or None
        These names as text, of a table whose names are not all text; scikit-learn keeps none there.
    qid_column_ : str or None
        The column of ``X`` that held query ids: where :meth:`predict`, :meth:`score` and
        :meth:`rank` look for them.
    start_coef_ : array of shape (n_features, 2) or None
        Of ``start="query_linear"``: coefficients of each feature's z-score and rank in its query.

    Examples
    --------
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = Ranker("xendcg", n_estimators=20).fit(data.X, data.y, qid=data.qid)
    >>> ranker.predict(data.X).shape == data.y.shape
    True
    >>> bool(ranker.score(data.X, data.y, qid=data.qid) > 0.5)
    True
    """

    def __init__(
        self,
        objective: str | Objective | None = None,
        *,
        preset: str = "auto",
        n_estimators: int | None = None,
        learning_rate: float | None = None,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int | None = None,
        min_child_weight: float | None = None,
        min_split_gain: float = 0.0,
        subsample: float | None = None,
        subsample_freq: int | None = None,
        subsample_for_bin: int = 200_000,
        colsample_bytree: float | None = None,
        reg_alpha: float = 0.0,
        reg_lambda: float | None = None,
        boosting_type: str = "gbdt",
        importance_type: str = "gain",
        eval_metric: Any = "ndcg@10",
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = 0.1,
        start: Any = "auto",
        noise: ArrayLike | None = None,
        warm_start: bool = False,
        qid: str | None = None,
        lgb_params: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
        verbose: int = -1,
    ) -> None:
        self.objective = objective
        self.preset = preset
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.subsample_for_bin = subsample_for_bin
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.boosting_type = boosting_type
        self.importance_type = importance_type
        self.eval_metric = eval_metric
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.start = start
        self.noise = noise
        self.warm_start = warm_start
        self.qid = qid
        self.lgb_params = lgb_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def lightgbm_defaults(cls, objective: str | Objective = "xendcg", **params: Any) -> Self:
        """Return a Ranker with ``preset="lightgbm"``, for those who change nothing but the loss.

        Examples
        --------
        >>> from gbrank import Ranker
        >>> Ranker.lightgbm_defaults("lambdamart", num_leaves=15)
        Ranker(num_leaves=15, objective='lambdamart', preset='lightgbm')
        """
        return cls(objective, **{"preset": "lightgbm", **params})

    @staticmethod
    def search_space(
        objectives: Sequence[str | Objective] | str = "auto",
        start: Sequence[str] | str = ("linear", "zero"),
    ) -> dict[str, dict[str, Any]]:
        """Return what is worth tuning, as a plain dictionary, for whichever tuner you use.

        Each entry has a "type": "float" or "int", between "low" and "high", both included, by
        their logarithm if "log"; or "choice", one of "values". A parameter of a loss is called
        ``loss__parameter`` and counts only "when" that loss is chosen. :meth:`from_point` makes a
        Ranker of what a tuner has drawn; :func:`gbrank.tune` does all of it.

        Parameters
        ----------
        objectives : the losses to choose from, by name or as instances, or "auto".
        start : where boosting may start.

        Examples
        --------
        >>> from gbrank import Ranker
        >>> space = Ranker.search_space(["xendcg", "lambdamart"])
        >>> space["reg_lambda"]
        {'type': 'float', 'low': 1.0, 'high': 300.0, 'log': True}
        >>> space["lambdamart__norm"]
        {'type': 'choice', 'values': [True, False], 'when': {'objective': 'lambdamart'}}
        """
        return search_space(objectives, start)

    @classmethod
    def from_point(cls, point: Mapping[str, Any], **params: Any) -> Self:
        """Return the Ranker that a point of :meth:`search_space` stands for.

        Parameters
        ----------
        point : a value for each name, as a tuner draws them; parameters of losses that were not
            chosen count for nothing.
        **params : further parameters of the Ranker.

        Examples
        --------
        >>> from gbrank import Ranker
        >>> point = {"objective": "lambdamart", "lambdamart__sigmoid": 2.0, "num_leaves": 15}
        >>> Ranker.from_point(point, preset="fast")
        Ranker(num_leaves=15, objective=LambdaMART(sigmoid=2.0), preset='fast')
        """
        objective, trees = split_point(point)
        return cls(**{"objective": objective, **trees, **params})

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        preferences: Observations | None = None,
        keys: Any = None,
        eval_X: Any = None,
        eval_y: Any = None,
        eval_qid: Any = None,
        eval_sample_weight: Any = None,
        eval_init_score: Any = None,
        eval_set: Any = None,
        eval_group: Any = None,
        init_model: Any = None,
        callbacks: Sequence[Callable[..., Any]] | None = None,
        position: ArrayLike | None = None,
        propensity: Any = None,
        unbiased: str | None = None,
        clip: float | None = None,
        eval_position: Any = None,
    ) -> Self:
        """Train.

        Ctrl-C ends training, with a warning, and keeps the trees grown so far.

        Parameters
        ----------
        X : array, sparse matrix, table, lightgbm.Sequence or lightgbm.Dataset
            Features, ``(n_rows, n_features)``; rows in any order if ``qid`` is given. Tables are
            frames of pandas (categories are kept) and polars, and tables of pyarrow. Missing values
            are allowed. A Dataset brings its own labels, groups, weights and scores.
        y : array of shape (n_rows,), or (n_rows, n_labels) with ``Combined``
            Relevance, finite and >= 0, whole or fractional. Not needed with ``preferences``.
        qid : array of shape (n_rows,), or str
            Query of each row: numbers, strings, categories; or the name of a column of ``X``.
        group : array of shape (n_queries,)
            Instead of ``qid``: number of rows of each query, rows of a query being consecutive.
        sample_weight : array of shape (n_rows,) or (n_queries,)
            Weight of each row, which multiplies its gradient and hessian; or of each query, in
            the order of first appearance, which is the weight of all its rows.
        init_score : array of shape (n_rows,)
            Scores to start from instead of 0. As in LightGBM they are not part of the model:
            :meth:`predict` returns what the model adds to them. A ``start`` is fitted as if they
            were not there, and boosting begins at the sum of both, of which only the start is part
            of the model.
        preferences : Comparisons, Selections or PartialOrders
            Observations of :mod:`gbrank.preferences` to learn from instead of labels, by an
            objective that takes them: ``UStatistic``, ``PreferenceLogistic``,
            ``PairwiseLogistic``. They name rows of ``X`` in its order, or keys.
        keys : array of shape (n_rows,)
            Key of each row, for preferences with ``items="key"``.
        eval_X, eval_y, eval_qid : one evaluation set, or a tuple or list of several
            Queries on which ``eval_metric`` is computed after each tree. ``eval_qid`` is not needed
            if the queries are a column. With a ``preset`` that holds out queries of ``X`` itself
            they are an error.
        eval_sample_weight, eval_init_score : as ``sample_weight`` and ``init_score``, of each set
            A query counts with its mean row weight.
        eval_set, eval_group : list of pairs (X, y), list of arrays
            Evaluation sets as ``LGBMRanker`` takes them: ``eval_set`` in the place of ``eval_X``
            and ``eval_y``, the numbers of rows of queries in the place of ``eval_qid``.
        init_model : Booster, Ranker or path
            Model whose training is continued; the trees that it predicts with are part of the
            result. Columns must be those it was trained on, in the same order; categories may
            come in another one. A start that is not made of trees is an error.
        callbacks : list of callables
            LightGBM callbacks.
        position : array of shape (n_rows,)
            Where each row was shown, if ``y`` are clicks on lists that were shown, each list a
            query; integers >= 0. Needs ``unbiased``, or an objective that reads positions.
        propensity : Propensities or array of shape (n_rows,)
            How likely each position (or each row) was looked at.
        unbiased : {"ips", "additive", "dual"}, default=None
            How the bias of positions is removed from clicks. "ips": clicks are divided by
            ``propensity``; ``objective=None`` is then :class:`gbrank.ClickSoftmax`, and one that
            stays biased (:func:`gbrank.clicks.why_biased`) gives a warning. "additive": a bias of
            each position is learned beside the trees, by :class:`gbrank.PositionBias` around the
            objective, or ``LambdaMART``, from equal rows of ``X`` at several positions, as far as
            there are any. "dual": :class:`gbrank.DualSoftmax`. One booster, from
            zero unless ``start`` says otherwise, at the rate 0.1 unless ``learning_rate`` does.
            Held-out queries, and evaluation sets with ``eval_position``, are judged by
            ``ips_ndcg``, which needs ``propensity``; those without by labels, as always.
            A log shows a document in many lists, so that what counts documents
            (``min_child_samples``, ``reg_lambda`` and the other penalties) is multiplied by the
            number of rows per different row of ``X``. In ``preset="lightgbm"`` penalties and the
            additive bias are LightGBM's own.
        clip : float, default=None
            The least propensity that clicks are divided by; what was clicked below it counts too
            little, by the factor propensity / clip. ``None`` for 0.2 in labels that "ips" trains
            on, and for no clip where clicks judge.
        eval_position : as ``position``, of an evaluation set of clicks.
        """
        if unbiased is not None:
            evaluation_of_clicks = (eval_X, eval_y, eval_qid, eval_sample_weight, eval_position)
            self._fit_clicks(
                (X, y, qid, group, sample_weight),
                (position, propensity, unbiased, clip),
                evaluation_of_clicks,
                {
                    "init_score": init_score,
                    "preferences": preferences,
                    "eval_init_score": eval_init_score,
                    "eval_set": eval_set,
                    "eval_group": eval_group,
                    "init_model": init_model,
                    "callbacks": callbacks,
                },
            )
            return self
        if propensity is not None or eval_position is not None or clip is not None:
            raise ValueError(
                "propensity, clip and eval_position mean something with unbiased='ips', 'additive' "
                "or 'dual' only, but unbiased is None"
            )
        if keys is not None and preferences is None:
            raise ValueError("keys name rows for preferences, but preferences is None")
        check_no_placeholders(self.get_params())
        objective = resolve_objective(self)
        if isinstance(X, lgb.Dataset) and position is None:
            pass  # which brings its own
        elif (position is not None) != objective.needs_position:
            raise ValueError(
                f"{type(objective).__name__} needs position: where each row was shown"
                if position is None
                else f"position is given, but {type(objective).__name__} does not read it: say how "
                "its bias is to be removed, unbiased='ips', 'additive' or 'dual'"
            )
        check_start(self.start, self.lgb_params)
        for each in callbacks or ():
            if not callable(each):
                raise TypeError(f"callbacks must be a list of callables, but one is {each!r}")
        evaluation_given = evaluation_arguments(
            {
                "eval_X": eval_X,
                "eval_y": eval_y,
                "eval_qid": eval_qid,
                "eval_sample_weight": eval_sample_weight,
                "eval_init_score": eval_init_score,
            },
            eval_set,
            eval_group,
        )
        eval_X, eval_y, eval_qid, eval_sample_weight, eval_init_score = evaluation_given.values()
        observed = _observations(objective, preferences)
        sets = (eval_X, eval_y, eval_qid, eval_sample_weight, eval_init_score)
        no_labels = y is None and observed is not None
        name = self._choose_preset(
            self._why_one_booster(X, init_model, sets, callbacks, no_labels=no_labels)
            or ("a bias of positions is learned by one booster" if position is not None else None)
        )
        # dart and random forests cannot stop early, and callbacks may do so by themselves
        is_stopped = (
            self.preset == "auto"
            and any(each is not None for each in sets)
            and not callbacks
            and init_model is None
            and not self.warm_start
            and self.boosting_type not in ("dart", "rf")
        )
        own = resolve_preset({**self._own_params(), "preset": name}, is_stopped=is_stopped)
        params = lightgbm_params(own)
        if PRESETS[name].n_folds > 1:
            rows = (X, y, qid, group, sample_weight, init_score)
            self._fit_members(own, params, rows, observed, keys)
            return self
        continued, n_trees = self._continued_model(init_model, own["n_estimators"])
        if n_trees == 0:
            return self
        if continued is not None and not (init_score is None and eval_init_score is None):
            raise ValueError(
                "init_score cannot be given when training goes on: it goes on from the scores of "
                "the trees, which LightGBM puts in its place"
            )
        evaluated = _evaluation_sets(
            eval_X, eval_y, eval_qid, eval_sample_weight, eval_init_score, self.qid or qid
        )
        patience = own["early_stopping_rounds"]
        holds_out = patience is not None and not evaluated
        if holds_out:
            self._check_holding_out(X, preferences)
        # another object learns, so that a fit that fails leaves this one as it was
        model = self._unfitted_copy()
        start = Start()
        training: Any
        evaluation: list[Any] = []
        if isinstance(X, lgb.Dataset):
            given = (y, qid, group, sample_weight, init_score, preferences)
            training = model._read_dataset(X, params, given)
        else:
            has_labels = y is not None or observed is None
            y = y if has_labels else np.zeros(count_rows_of(X))
            training = model._read_rows(
                X, y, qid, group, sample_weight, init_score, "Ranker.fit", position, reset=True
            )
            if observed is not None:
                objective.set_params(observations=observed.bind(training.layout, keys=keys))
            if isinstance(objective, PositionBias):
                objective.sort_items(training.layout)
            objective.check_labels(training.y, training.layout)
            if holds_out:
                training, held_out = self._hold_out(training)
                evaluation = [held_out]
            [objective] = with_labels_of(objective, training, [None])
            if continued is None:
                wanted = PRESETS[name].members[0].start if self.start == "auto" else self.start
                seed = int(self.random_state or 0)
                start = Start.fit(
                    wanted,
                    training,
                    objective,
                    has_labels=has_labels,
                    seed=seed,
                    **linear_limits(params, training.X),
                )
        evaluation += [model._read_evaluation_set(given, params, training) for given in evaluated]
        if isinstance(training, RankingData):
            training = start.added_to(training, is_training=True)
            evaluation = [start.added_to(data) for data in evaluation]
        options = TrainingOptions(
            n_trees,
            own["min_child_samples"],
            metrics=self._fevals(),
            early_stopping_rounds=patience,
            callbacks=callbacks or (),
            show_progress=self.verbose >= 1,
            is_whole=start.kind == "zero",
        )
        unit = 1.0
        if PRESETS[name].in_documents:
            known = None if continued is None else continued.hessian_unit
            unit = mean_hessian(objective, training) if known is None else known
            params = in_lightgbm_units(params, unit, self.lgb_params)
        if continued is not None:
            objective.n_start_trees = continued.n_start_trees
            params = with_seeds_of_later_trees(params, continued.n_trees)
        boosted = boost(
            params,
            objective,
            training,
            evaluation,
            options,
            None if continued is None else continued.booster,
        )
        set_trained(model, boosted, start, continued)
        model.preset_, model.hessian_unit_ = name, unit
        if isinstance(objective, LearnsBias) and isinstance(training, RankingData):
            shown = training.layout.sort(training.position)
            model.positions_, model.bias_ = objective.bias_by_position(shown)
        if continued is None:
            model.evals_start_ = _before_the_first_tree(evaluation, options.metrics)
        if self.verbose >= 1:
            size = describe_size(model.booster_, model.n_start_trees_)
            print(f"preset={name!r}: {size}", file=sys.stderr, flush=True)
        self._take_over(model)
        return self

    def predict(
        self,
        X: Any,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        num_iteration: int | None = None,
        **kwargs: Any,
    ) -> FloatArray:
        """Return a score for each row; only their order within a query means anything.

        Parameters
        ----------
        X : features, as in :meth:`fit`; a column of query ids may be there or not.
        qid, group : the queries; needed, and used, only with ``start="query_linear"``.
        num_iteration : number of trees to use, on top of the start; ``None`` for
            ``best_iteration_``. A sum of several boosters has no other number.
        **kwargs : passed to ``lightgbm.Booster.predict``, e.g. ``pred_contrib=True``. What comes
            back then is of the trees alone, without a start that is not made of trees.
            ``start_iteration`` is for models that start from zero only.
        """
        check_is_fitted(self)
        check_prediction_arguments(kwargs)
        features = self._features_only(X)
        trees = self._trees_to_use(num_iteration, kwargs.get("start_iteration", 0))
        kwargs.setdefault("num_threads", resolve_n_jobs(self.n_jobs))
        in_trees = self.start_kind_ in ("zero", "linear")
        if is_sequence(features):
            if not in_trees:
                raise ValueError(
                    "X must be in memory: the start of this model is not made of trees, and needs "
                    "more than the rows of a lightgbm.Sequence one after the other"
                )
            return np.concatenate(
                [self.booster_.predict(rows, num_iteration=trees, **kwargs) for rows in batches(X)]
            )
        features = self._validate_features(features, reset=False)
        readable = as_lightgbm_input(features)
        check_columns_of_categories(self.booster_, readable)
        predicted: FloatArray = self.booster_.predict(readable, num_iteration=trees, **kwargs)
        if in_trees or predicted.ndim > 1:
            return predicted
        return predicted + self._start_scores(X, features, qid, group)

    def rank(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> IntArray:
        """Return the rank of each row within its query: 1 is the best; ties go by row order."""
        if group is None:
            qid = self._queries_of(X, qid, "Ranker.rank")
        scores = self.predict(X, qid=qid, group=group)
        layout = QueryLayout.from_either(qid, group, len(scores))
        query = np.repeat(np.arange(layout.n_queries), layout.sizes)
        best_first = np.lexsort((-layout.sort(scores), query))
        ranks = np.empty(len(scores), dtype=np.int64)
        ranks[best_first] = np.arange(len(scores)) - np.repeat(layout.bounds[:-1], layout.sizes) + 1
        original: IntArray = layout.unsort(ranks)
        return original

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        position: ArrayLike | None = None,
        propensity: Any = None,
    ) -> float:
        """Return the mean of the first ``eval_metric`` over queries that are not blank.

        That is NDCG@10 unless ``eval_metric`` names another one; of a metric that is better when
        lower, minus its mean; and NDCG@10 where the first is a function without a name. Queries
        whose ids training saw are a warning, once, unless they are all that it saw or both sets
        count them from 0.

        Parameters
        ----------
        X, y, qid, group : as in :meth:`fit`.
        sample_weight : weight of each query, or of each row if constant within queries.
        position, propensity : as in :meth:`fit`, where ``y`` are clicks: what is returned is then
            :func:`gbrank.clicks.ips_ndcg` at 10, which has an interval too.
        """
        if group is None:
            qid = self._queries_of(X, qid, "Ranker.score")
            warn_of_seen_queries(self, qid)
        scores = self.predict(X, qid=qid, group=group)
        labels = one_column(split_labels(self.objective, y)[0])
        if propensity is not None or position is not None:
            if propensity is None or sample_weight is not None:
                raise ValueError(
                    "clicks are judged with propensity, and without sample_weight: position alone "
                    "does not say how likely each was looked at"
                )
            return ips_ndcg(
                labels,
                scores,
                position=position,
                propensities=propensity,
                qid=qid,
                group=group,
            ).value
        metric = _first_metric(self.eval_metric) or get_metric("ndcg@10")
        mean = metric(labels, scores, qid=qid, group=group, sample_weight=sample_weight)
        return float(mean if metric.greater_is_better else -mean)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature: splits or gain, by ``importance_type``."""
        check_is_fitted(self)
        importances: NDArray[Any] = self.booster_.feature_importance(self.importance_type)
        if self.importance_type == "split" and self.n_start_trees_:
            importances -= self.booster_.feature_importance("split", self.n_start_trees_)
        if self.importance_type == "gain" and self.start_kind_ == "query_linear":
            importances += gain_of_variance(self.booster_) * self.linear_coef_**2
        return importances

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model as text that LightGBM, and what reads LightGBM's text, predicts from.

        The file holds the ``best_iteration_`` trees that :meth:`predict` uses and no others, so
        that every reader predicts the same, unless the start is not made of trees
        ("query_linear", an estimator or a function), which is a warning. It names ``lambdarank`` as
        objective, since readers know no other name for "a score to rank by". The objective, all
        parameters and the fitted attributes are with it, under a checksum. A function among the
        parameters (a gain, a metric) is kept by name only. The file is replaced in one step or not
        at all.

        Parameters
        ----------
        path : the file to write; its folder must exist.

        See Also
        --------
        gbrank.boosting.model_file : the format.
        """
        check_is_fitted(self)
        if self.start_kind_ not in ("zero", "linear"):
            warnings.warn(
                f"the start of this model, {self.start_kind_!r}, is not made of trees: "
                "Ranker.load_model reads the file whole, but LightGBM, and what reads its text, "
                "will predict without the start",
                stacklevel=2,
            )
        fitted = {name: value for name, value in vars(self).items() if _is_saved(name)}
        parameters = self.get_params(deep=False)
        metadata = {"objective": self.objective_, "parameters": parameters, "fitted": fitted}
        n_trees = self.n_start_trees_ + self.best_iteration_
        write_model(self.booster_, path, metadata, num_iteration=n_trees)

    @classmethod
    def load_model(cls, path: str | os.PathLike[str]) -> Self:
        """Return the model that :meth:`save_model` wrote: same parameters, same predictions.

        Nothing in the file is run. A file that is damaged, or was not written by
        :meth:`save_model`, raises a ``ValueError`` that says what is wrong with it; a file of a
        newer version gives a warning. A function that was saved by name, or an objective that is
        not registered here, is not needed to predict; :meth:`fit` asks for it.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from gbrank import Ranker
        >>> from gbrank.data import make_ranking
        >>> data = make_ranking(n_queries=30, random_state=0)
        >>> ranker = Ranker("listnet", n_estimators=5).fit(data.X, data.y, qid=data.qid)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ranker.save_model(pathlib.Path(folder) / "model.txt")
        ...     loaded = Ranker.load_model(pathlib.Path(folder) / "model.txt")
        >>> loaded
        Ranker(n_estimators=5, objective='listnet')
        >>> bool((loaded.predict(data.X) == ranker.predict(data.X)).all())
        True
        """
        booster, metadata = read_model(path)
        parameters, fitted = metadata.get("parameters"), metadata.get("fitted")
        complete = "objective" in metadata
        if not complete or not isinstance(parameters, dict) or not isinstance(fitted, dict):
            raise ValueError(f"{os.fspath(path)} holds trees, but no Ranker")
        unknown = sorted(parameters.keys() - set(cls._get_param_names()))
        if unknown:
            warnings.warn(
                f"parameters of the saved model are not known here, and left out: {unknown}",
                stacklevel=2,
            )
        ranker = cls(**{name: parameters[name] for name in parameters if name not in unknown})
        ranker.booster_, ranker.objective_ = booster, metadata["objective"]
        try:
            check_fitted_values(fitted, parameters, booster)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)} is no sound model of gbrank: {error}") from error
        for name, value in fitted.items():
            if _is_saved(name):
                setattr(ranker, name, value)
        for name, value in {
            "n_boosters_": 1,
            "start_model_": None,
            "start_factor_": 1.0,
            "preset_": "fast",
        }.items():
            ranker.__dict__.setdefault(name, value)  # what files of old do not say
        return ranker

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str,  # noqa: A002 - what everybody calls it
        **options: Any,
    ) -> Export:
        """Write the model for a search engine; it ranks there as it does here.

        Parameters
        ----------
        path : the file to write; what belongs to it goes to a file beside it.
        format : "opensearch", "elasticsearch-ltr", "elasticsearch", "solr" or "vespa".
        **options : of :func:`gbrank.export`: ``feature_names``, ``name``, ``verify``, ``strict``.
        """
        check_is_fitted(self)
        return export(self, path, format=format, **options)

    def compile(self) -> CompiledModel:
        """Return a scorer with the same scores, to the last bit, several times as fast."""
        check_is_fitted(self)
        return compile_model(self)

    def explain(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> Explanation:
        """Return what each feature adds to each score, beyond the mean of the list.

        Parameters
        ----------
        X : the documents, as in :meth:`predict`.
        qid, group : the queries; with neither, all rows are one list, unless X has the column of
            query ids that :meth:`fit` was told of.
        """
        check_is_fitted(self)
        return explain(self, X, qid=self._lists_of(X, qid, group), group=group)

    def explain_pair(
        self, X: Any, i: int, j: int, *, qid: Any = None, group: ArrayLike | None = None
    ) -> PairExplanation:
        """Return why row ``i`` scores higher, or lower, than row ``j``: a sum over features.

        Parameters
        ----------
        X : the documents, as in :meth:`predict`.
        i, j : two rows.
        qid, group : the queries; needed only with ``start="query_linear"``.
        """
        check_is_fitted(self)
        return explain_pair(self, X, i, j, qid=self._lists_of(X, qid, group), group=group)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # --- the life of a fit -----------------------------------------------------------------------

    def _own_params(self) -> dict[str, Any]:
        """Return all parameters, also in a subclass whose constructor has others."""
        return {name: getattr(self, name) for name in Ranker._get_param_names()}

    def _unfitted_copy(self) -> Self:
        """Return the same parameters without anything that :meth:`fit` has set."""
        twin = copy.copy(self)
        for name in filter(_is_set_by_fit, list(vars(twin))):
            delattr(twin, name)
        return twin

    def _take_over(self, model: Self) -> None:
        """Become what another Ranker has learned, all at once."""
        kept = {name: value for name, value in vars(self).items() if not _is_set_by_fit(name)}
        learned = {name: value for name, value in vars(model).items() if _is_set_by_fit(name)}
        self.__dict__ = kept | learned

    def _continued_model(self, init_model: Any, n_estimators: int) -> tuple[_Continued | None, int]:
        """Return the model whose training goes on, if one does, and how many trees to add."""
        if init_model is not None:
            if not isinstance(self.start, str) or self.start not in ("auto", "zero"):
                raise ValueError(
                    "init_model is where training starts: it cannot be given together with "
                    f"start={self.start!r}"
                )
            return _Continued.of(init_model), n_estimators
        if not (self.warm_start and hasattr(self, "booster_")):
            return None, n_estimators
        if self.n_boosters_ > 1 or self.start_kind_ not in ("zero", "linear"):
            raise ValueError(
                "warm_start=True goes on with one booster whose start is 'zero' or 'linear'; here "
                f"are {self.n_boosters_} and the start is {self.start_kind_!r}"
            )
        n_trees = n_estimators - self.best_iteration_
        if n_trees < 0:
            raise ValueError(
                f"n_estimators={n_estimators} must be at least the {self.best_iteration_} "
                "trees there are already: warm_start=True goes on from them"
            )
        if n_trees == 0:
            warnings.warn(
                "warm_start=True without a greater n_estimators adds no trees", stacklevel=3
            )
        return _Continued.of(self), n_trees

    def _metrics(self) -> list[Any]:
        wanted = self.eval_metric
        return list(wanted) if isinstance(wanted, list | tuple) else [wanted]

    def _fevals(self) -> list[Callable[..., Any]]:
        return [
            feval(metric)
            if isinstance(metric, str | Metric)
            else metric
            if _named_metric(metric) is not None
            else CheckedMetric(metric)
            for metric in self._metrics()
        ]

    # --- several members, cross-fitted -----------------------------------------------------------

    def _choose_preset(self, one_booster: str | None) -> str:
        """Return the preset to train, given why it cannot be one of several boosters, if so."""
        check_choice("preset", self.preset, ("auto", *PRESETS))
        if self.preset == "auto":
            if one_booster is not None:
                self._say(f"one booster, as {one_booster}")
            return AUTO if one_booster is None else ONE_BOOSTER
        if PRESETS[self.preset].n_folds > 1 and one_booster is not None:
            raise ValueError(f"with preset={self.preset!r} {one_booster}; or use preset='fast'")
        return self.preset

    def _why_one_booster(
        self,
        X: Any,
        init_model: Any,
        evaluated: Sequence[Any],
        callbacks: Any,
        *,
        no_labels: bool,
    ) -> str | None:
        """Return the rule that forbids several boosters here; ``None`` where there is none."""
        not_in_trees = not isinstance(self.start, str) or self.start == "query_linear"
        unnamed = [each for each in self._metrics() if _named_metric(each) is None]
        rules = {
            "X must be in memory, not a Dataset or a Sequence, so that queries can be held out": (
                isinstance(X, lgb.Dataset) or is_sequence(X)
            ),
            "training cannot go on from another model, by init_model or warm_start": (
                init_model is not None or self.warm_start
            ),
            "there can be no evaluation set: the queries of X that are held out decide, so give "
            "all queries that may be learned from as X": any(
                each is not None for each in evaluated
            ),
            "there can be no callbacks, which LightGBM calls for one booster": bool(callbacks),
            "y must be given: held-out queries are judged by labels, and preferences have none": (
                no_labels
            ),
            "eval_metric must be names such as 'ndcg@10', which judge held-out queries one by one, "
            f"got {unnamed[:1]}": bool(unnamed),
            f"start must be 'auto', 'zero' or 'linear', got {self.start!r}": not_in_trees,
            f"boosting_type must not be {self.boosting_type!r}, of which no sum can be made": (
                self.boosting_type in ("dart", "rf")
            ),
        }
        return next((rule for rule, is_broken in rules.items() if is_broken), None)

    def _fit_members(
        self,
        own: dict[str, Any],
        params: dict[str, Any],
        rows: tuple[Any, Any, Any, Any, Any, Any],
        observed: Observations | None,
        keys: Any,
    ) -> None:
        """Train what the preset says: see :mod:`gbrank.boosting.cross_fit`."""
        metrics = [get_metric(_named_metric(each)) for each in self._metrics()]
        model = self._unfitted_copy()
        data = model._read_rows(*rows, "Ranker.fit", reset=True)
        bound = None if observed is None else observed.bind(data.layout, keys=keys)
        order, filled = data.layout.order, np.flatnonzero(data.layout.sizes)
        if order is not None or len(filled) < data.n_queries:
            # from here on in query order, and without queries that have no rows
            data = data.take(filled)
            bound = None if bound is None else bound.take(filled)
        seed = int(self.random_state or 0)
        n_folds = PRESETS[own["preset"]].n_folds
        parts = cut_parts(data.layout, n_folds, self.validation_fraction, seed)
        if not parts:
            self._say(f"{data.n_queries} queries are too few to hold some out: one booster")
            self._fit_one_instead(rows, observed, keys)
            return
        judges = np.sort(np.concatenate([outside for _, outside in parts]))
        try:
            held_out = HeldOut(data, judges, metrics, params["num_threads"])
        except ValueError as error:
            if self.preset != "auto":
                raise
            warnings.warn(f"{error}; here it is one booster", stacklevel=3)
            self._fit_one_instead(rows, observed, keys)
            return
        members, starts = self._make_members(own, data, parts, bound, params)
        options = TrainingOptions(
            own["n_estimators"],
            own["min_child_samples"],
            early_stopping_rounds=own["early_stopping_rounds"],
            show_progress=self.verbose >= 1,
        )
        grown = cross_fit(params, members, data, parts, held_out, options, self.lgb_params)
        warn_of_no_splits([booster for each in grown for booster in each.boosters])
        blended = Members(members, starts, grown, data, parts, held_out)
        blended.set_trained(model, order)
        model.preset_ = own["preset"]
        if self.verbose >= 1:
            print(blended.report(model), file=sys.stderr, flush=True)
        self._take_over(model)

    def _make_members(
        self,
        own: dict[str, Any],
        data: RankingData,
        parts: Sequence[Part],
        bound: BoundObservations | None,
        params: dict[str, Any],
    ) -> tuple[list[Member], list[list[Start]]]:
        """Return what is to be grown, and where each booster of each member starts."""
        members: list[Member] = []
        starts: list[list[Start]] = []
        wanted = PRESETS[own["preset"]].members
        is_chosen = self.objective is not None or self.noise is not None
        for settings in wanted[:1] if is_chosen else wanted:
            objective = resolve_objective(self, None if is_chosen else settings.objective)
            if bound is not None:
                objective.set_params(observations=bound)
                plain = [
                    clone(objective).set_params(observations=bound.take(queries))
                    for queries, _ in parts
                ]
            else:
                plain = with_labels_of(objective, data, [queries for queries, _ in parts])
            objective.check_labels(data.y, data.layout)
            start = settings.start if self.start == "auto" else self.start
            trees = lightgbm_params(resolve_preset(self._own_params(), settings))
            fitted = fit_starts(
                start,
                data,
                [inside for inside, _ in parts],
                plain,
                seed=int(self.random_state or 0),
                **linear_limits(params, data.X),
            )
            starts.append(fitted)
            scores = [
                None if each.kind == "zero" else each.scores(data.X, data.layout) for each in fitted
            ]
            boosted = _with_seeds_of_their_own(plain, len(parts) * len(members))
            name = _member_name(objective, fitted[0].kind)
            members.append(Member(name, trees, boosted, scores))
        return members, starts

    def _fit_one_instead(
        self, rows: tuple[Any, ...], observed: Observations | None, keys: Any
    ) -> None:
        """Train one booster, where no queries can be held out that would judge it."""
        one = self._unfitted_copy()
        one.preset = ONE_BOOSTER
        X, y, qid, group, weight, init_score = rows
        Ranker.fit(
            one,
            X,
            y,
            qid=qid,
            group=group,
            sample_weight=weight,
            init_score=init_score,
            preferences=observed,
            keys=keys,
        )
        one.cv_score_ = one.cv_score_se_ = float("nan")
        one.cv_predictions_ = np.full(count_rows_of(X), np.nan)
        one.members_ = [
            {
                "name": _member_name(one.objective_, one.start_kind_),
                "trees": one.best_iteration_,
                "weight": 1.0,
                "cv_score": float("nan"),
            }
        ]
        self._take_over(one)

    def _say(self, what: str) -> None:
        if self.verbose >= 1:
            print(f"preset={self.preset!r}: {what}", file=sys.stderr, flush=True)

    # --- clicks ----------------------------------------------------------------------------------

    def _fit_clicks(
        self,
        rows: tuple[Any, Any, Any, Any, Any],
        clicks: tuple[Any, Any, str, float | None],
        evaluation: tuple[Any, Any, Any, Any, Any],
        others: dict[str, Any],
    ) -> None:
        """Train on clicks without the bias of positions: see :mod:`gbrank.clicks.training`."""
        X, y, qid, group, weight = rows
        column = qid if isinstance(qid, str) else self.qid if qid is None else None
        position, propensity, unbiased, clip = clicks
        if isinstance(X, lgb.Dataset) or y is None or others["preferences"] is not None:
            raise ValueError("unbiased needs X in memory and y, the clicks, not a Dataset")
        if group is None:
            qid = self._queries_of(X, qid, "Ranker.fit")
        layout = QueryLayout.from_either(qid, group, count_rows_of(X))
        y = check_labels(one_column(y), layout)
        if position is not None:
            position = check_positions(position, layout)
        if weight is not None:
            weight = RankingData.checked(X, y, qid, group, weight).sample_weight
        plan = plan_training(
            unbiased, correct_for_noise(self), y, layout, position, propensity, clip, weight
        )
        one = self._unfitted_copy()
        one.objective, one.noise = plan.objective, None
        one.preset = ONE_BOOSTER if self.preset == "auto" else self.preset
        if isinstance(self.start, str) and self.start == "auto":
            one.start = "zero"
        one.learning_rate = 0.1 if self.learning_rate is None else self.learning_rate
        documents = None
        if PRESETS[one.preset].in_documents:
            has_ids = isinstance(column, str) and column in column_names(X)
            documents = number_distinct_rows(take_column(X, column)[1] if has_ids else X)
            copies = layout.n_rows / (int(documents.max()) + 1)
            one.set_params(**counted_in_rows(resolve_preset(one.get_params()), copies))
        eval_X, eval_y, eval_qid, eval_weight, eval_position = evaluation
        has_sets = eval_X is not None or others["eval_set"] is not None
        holds_out = self.early_stopping_rounds is not None and not has_sets
        kept = np.arange(layout.n_rows)
        if eval_position is not None or holds_out:
            if propensity is None:
                raise ValueError(
                    "clicks of evaluation sets and of held-out queries are judged by ips_ndcg, "
                    "which needs propensity; or give evaluation sets with labels, and without "
                    "eval_position"
                )
            cutoff = getattr(_first_metric(self.eval_metric), "k", 10)
            one.eval_metric = judging_metric(cutoff)
            if holds_out:
                kept, eval_X, eval_y, eval_qid, propensity = self._hold_out_lists(
                    X, y, layout, as_propensities(propensity, position, layout.n_rows)
                )
            else:
                eval_qid = self._queries_of(eval_X, eval_qid, "an evaluation set")
            judged = QueryLayout.from_qid(eval_qid, count_rows_of(eval_X))
            eval_y, eval_weight = judged_rows(
                eval_y, eval_position, propensity, judged, clip, cutoff
            )
        numbers = layout.unsort(np.repeat(np.arange(layout.n_queries), layout.sizes))
        if documents is not None and isinstance(plan.objective, PositionBias):
            one.objective = clone(plan.objective).set_params(items=documents[kept])
        Ranker.fit(
            one,
            take_rows(X, kept) if holds_out else X,
            np.asarray(plan.y)[kept],
            # a name, so that predict knows of the column
            qid=column if column is not None and group is None else numbers[kept],
            sample_weight=None if plan.sample_weight is None else plan.sample_weight[kept],
            eval_X=eval_X,
            eval_y=eval_y,
            eval_qid=eval_qid,
            eval_sample_weight=eval_weight,
            position=None if plan.position is None else np.asarray(plan.position)[kept],
            **others,
        )
        if isinstance(one.objective_, PositionBias):
            one.objective_.set_params(items=None)  # rows of this log are nothing to another
        self._take_over(one)

    def _hold_out_lists(
        self, X: Any, y: FloatArray, layout: QueryLayout, propensity: FloatArray
    ) -> tuple[IntArray, Any, FloatArray, IntArray, FloatArray]:
        """Return the rows to train on; features, clicks, queries and propensities of the others."""
        self._check_holding_out(X, None)
        numbers = layout.unsort(np.repeat(np.arange(layout.n_queries), layout.sizes))
        fraction: Any = self.validation_fraction
        kept, held_out = hold_out_queries(layout.n_queries, fraction, self.random_state or 0)
        if len(kept) == 0:
            raise ValueError(
                f"validation_fraction={fraction} of {layout.n_queries} queries leaves none to "
                "train on"
            )
        outside = np.isin(numbers, held_out)
        rows = np.flatnonzero(outside)
        held = take_rows(X, rows)
        return np.flatnonzero(~outside), held, y[rows], numbers[rows], propensity[rows]

    # --- queries held out ------------------------------------------------------------------------

    def _check_holding_out(self, X: Any, preferences: Observations | None) -> None:
        if preferences is not None:
            raise ValueError(
                "early_stopping_rounds needs an evaluation set with labels: preferences have none"
            )
        if self.validation_fraction is None or isinstance(X, lgb.Dataset):
            raise ValueError(
                "early_stopping_rounds needs an evaluation set: pass eval_X, eval_y, eval_qid, or, "
                "unless X is a Dataset, give validation_fraction"
            )

    def _hold_out(self, data: RankingData) -> tuple[RankingData, RankingData]:
        """Take queries from the training set for early stopping that has no others to judge by."""
        fraction: Any = self.validation_fraction
        kept, held_out = hold_out_queries(data.n_queries, fraction, self.random_state or 0)
        if len(kept) == 0:
            raise ValueError(
                f"validation_fraction={fraction} of {data.n_queries} queries leaves none to train "
                "on"
            )
        return data.take(kept), data.take(held_out)

    # --- reading data ----------------------------------------------------------------------------

    def _read_rows(
        self,
        X: Any,
        y: Any,
        qid: Any,
        group: Any,
        sample_weight: Any,
        init_score: Any,
        caller: str,
        position: Any = None,
        *,
        reset: bool,
    ) -> RankingData:
        """Return checked rows; remember their columns, or compare them with those of training."""
        if y is None:
            raise ValueError(f"{caller} requires y to be passed, but the target y is None")
        if reset:
            self.qid_column_ = qid if isinstance(qid, str) else self.qid
        if group is None:
            qid = self._queries_of(X, qid, caller)
        if reset:
            self.training_queries_ = None if group is not None else hash_queries(qid)
            if group is None:
                check_columns_of_ids(X, qid, self.qid_column_)
        X = self._validate_features(self._features_only(X), reset=reset)
        y, labels = split_labels(self.objective, y)
        data = RankingData.checked(X, y, qid, group, sample_weight, init_score, position)
        self._show_queries(caller, data.y, data.layout)
        return data if labels is None else with_label_matrix(data, labels)

    def _show_queries(self, caller: str, labels: ArrayLike, layout: QueryLayout) -> None:
        if self.verbose >= 1:
            print(f"{caller}: {describe_queries(labels, layout)}", file=sys.stderr, flush=True)

    def _read_dataset(
        self, dataset: lgb.Dataset, params: dict[str, Any], given: tuple[Any, ...]
    ) -> lgb.Dataset:
        """Return a Dataset that the user has made; remember its columns."""
        names = ("y", "qid", "group", "sample_weight", "init_score", "preferences")
        extra = [name for name, value in zip(names, given, strict=True) if value is not None]
        if extra:
            raise ValueError(
                f"a Dataset brings its own labels, queries and weights: {extra} given too"
            )
        if not isinstance(self.start, str) or self.start not in ("auto", "zero"):
            raise ValueError(
                f"start={self.start!r} needs features in memory, but X is a Dataset: give it "
                "init_score, and use start='zero'"
            )
        check_dataset(dataset, params, "X")
        layout = QueryLayout.from_group(dataset.get_group())
        self._show_queries("Ranker.fit", dataset.get_label(), layout)
        self.qid_column_ = None
        self.n_features_in_ = dataset.num_feature()
        columns = feature_names(dataset)
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        return dataset

    def _read_evaluation_set(
        self, given: Sequence[Any], params: dict[str, Any], training: RankingData | lgb.Dataset
    ) -> RankingData | lgb.Dataset:
        X, y, qid, weight, init_score = given
        if not isinstance(X, lgb.Dataset):
            return self._read_rows(
                X, y, qid, None, weight, init_score, "an evaluation set", reset=False
            )
        if not isinstance(training, lgb.Dataset):
            raise ValueError("eval_X is a Dataset, so X must be one too: they share their bins")
        return check_dataset(X.set_reference(training), params, "eval_X")

    def _queries_of(self, X: Any, qid: Any, caller: str) -> Any:
        """Return query ids: those given, or the column of X that is named or remembered."""
        wanted = qid if qid is not None else getattr(self, "qid_column_", self.qid)
        if wanted is None:
            raise ValueError(
                f"{caller} needs to know the queries: pass qid= (the query id of each row, or the "
                "name of a column of X) or group= (the number of rows of each query). In "
                "cross-validation, name the column with Ranker(qid=...), or enable metadata "
                "routing and request qid"
            )
        if isinstance(wanted, int | np.integer):
            raise TypeError(
                "qid must be the query id of each row, or the name of a column of X, got "
                f"{wanted!r}"
            )
        if not isinstance(wanted, str):
            return wanted
        if not is_table(X):
            raise ValueError(
                f"qid={wanted!r} names a column, but X has no names: it is of type "
                f"{type(X).__name__}. Pass a data frame, or the query id of each row"
            )
        if wanted not in column_names(X):
            raise ValueError(f"X has no column {wanted!r} of query ids; it has {column_names(X)}")
        return take_column(X, wanted)[0]

    def _lists_of(self, X: Any, qid: Any, group: Any) -> Any:
        """Return query ids as given, or as a column of X has them, or None."""
        column = getattr(self, "qid_column_", self.qid)
        remembered = qid is None and group is None and column in column_names(X)
        is_column = isinstance(qid, str) or remembered
        return self._queries_of(X, qid, "Ranker.explain") if is_column else qid

    def _features_only(self, X: Any) -> Any:
        """Return X without its column of query ids, if it has one."""
        name = getattr(self, "qid_column_", self.qid)
        return take_column(X, name)[1] if name is not None and name in column_names(X) else X

    def _validate_features(self, X: Any, *, reset: bool) -> Any:
        """Check features and remember, or compare, their number and names.

        Arrays are checked as scikit-learn does; tables keep their types, so that LightGBM sees
        categories.
        """
        if is_sequence(X):
            return self._validate_sequence(X, reset=reset)
        check_columns(X)
        if hasattr(X, "shape") and len(X.shape) == 2 and X.shape[0] == 0:
            raise ValueError(f"X has no rows: its shape is {tuple(X.shape)}")
        if is_table(X):
            if X.shape[1] == 0:
                raise ValueError("X has no columns to learn from")
            if reset:
                self.column_names_ = numbered_columns(X)
            else:
                X = self._in_order_of_training(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self,
            plain_features(X),
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )

    def _in_order_of_training(self, X: Any) -> Any:
        """Return a table whose columns are in the order of training, if they are the same ones."""
        known = getattr(self, "column_names_", None)
        if known is None:
            known = list(getattr(self, "feature_names_in_", []))
        return align_columns(X, known) if known else X

    def _validate_sequence(self, X: Any, *, reset: bool) -> Any:
        parts = X if isinstance(X, list) else [X]
        first_row = np.asarray(parts[0][0])
        if first_row.dtype != np.float64:
            raise TypeError(f"rows of a lightgbm.Sequence must be float64, got {first_row.dtype}")
        n_features = first_row.shape[-1]
        if reset:
            self.n_features_in_ = n_features
        elif n_features != self.n_features_in_:
            raise ValueError(
                f"X has {n_features} features, but Ranker is expecting {self.n_features_in_}"
            )
        return X

    # --- predicting ------------------------------------------------------------------------------

    def _trees_to_use(self, num_iteration: int | None, start_iteration: int) -> int:
        """Return how many trees of the booster to use, those of the start included; 0 for all."""
        if self.n_boosters_ > 1 and num_iteration not in (None, 0, -1, self.best_iteration_):
            raise ValueError(
                f"num_iteration must be None for a sum of {self.n_boosters_} boosters, whose trees "
                f"come booster by booster, got {num_iteration}"
            )
        if start_iteration and (self.n_boosters_ > 1 or self.start_kind_ != "zero"):
            raise ValueError(
                "start_iteration must be 0 unless there is one booster that starts from zero, got "
                f"{start_iteration}; here are {self.n_boosters_}, and the start is "
                f"{self.start_kind_!r}"
            )
        trees = self.best_iteration_ if num_iteration is None else num_iteration
        return trees + self.n_start_trees_ if trees > 0 else trees

    def _start_scores(self, X: Any, features: Any, qid: Any, group: Any) -> FloatArray:
        """Return what a start that is not made of trees adds."""
        n_rows = count_rows_of(features)
        layout = QueryLayout.from_group([n_rows])
        if self.start_kind_ == "query_linear":
            if group is None:
                qid = self._queries_of(X, qid, "Ranker.predict of a start relative to the query")
            layout = QueryLayout.from_either(qid, group, n_rows)
        # of a model that was loaded from a file: what it starts from is not in the file
        model = self.start if isinstance(self.start_model_, SavedByName) else self.start_model_
        if isinstance(model, SavedByName):
            raise ValueError(
                f"the model starts from {model.name}, of which its file holds only the name: give "
                "it again, with set_params(start=...)"
            )
        start = Start(self.start_kind_, model, self.start_coef_, factor=self.start_factor_)
        return start.scores(features, layout)


# --- what others need too ------------------------------------------------------------------------


def resolve_objective(ranker: Any, given: Any = None) -> Objective:
    """Return the objective that a Ranker trains, checked; never the one that it was given.

    Everything that decides it is read from the Ranker here, noise of labels included, so that
    whoever trains and whoever says what was trained cannot differ.

    Parameters
    ----------
    ranker : an estimator with the parameters of a Ranker.
    given : name or instance in the place of its ``objective``, and of what ``noise`` makes of that.
    """
    if ranker.random_state is not None:
        check_seed(ranker.random_state)
    chosen = correct_for_noise(ranker) if given is None else given
    objective = get_objective(DEFAULT_OBJECTIVE if chosen is None else chosen)
    seed = int(ranker.random_state or 0)
    if ranker.random_state is None and getattr(objective, "random_state", 0) is None:
        seed = objective.value_of("random_state")
    # explicitly, as the Ranker's random_state is LightGBM's seed, of which another would follow
    said = {"objective_seed": seed, **check_other_params(ranker.lgb_params)}
    resolved: Objective = clone(objective).with_lightgbm_params(said)
    if resolved.n_jobs is None:
        resolved.set_params(n_jobs=ranker.n_jobs)
    judge = _first_metric(ranker.eval_metric)
    if isinstance(resolved, YetiLoss) and judge is not None:
        resolved.take_metric(judge)
    resolved.check_params()
    return resolved


def correct_for_noise(ranker: Any) -> Any:
    """Return the objective of a Ranker, with corrected gains where it was told of noise.

    Parameters
    ----------
    ranker : an estimator with ``objective``, and ``noise`` where it has it.
    """
    noise = getattr(ranker, "noise", None)
    if noise is None:
        return ranker.objective
    check_noise_matrix(noise, "noise")
    given = GainPairwise(norm=None) if ranker.objective is None else ranker.objective
    objective = get_objective(given)
    if not objective.takes_signed_gains:
        raise ValueError(
            "noise corrects the gains of Squared, KL and GainPairwise with norm=None: the gradient "
            f"of {type(objective).__name__} is not affine in gains, or is divided by what the "
            f"noisy labels of a query make, so that no correction reaches it; got {given!r}"
        )
    clean = objective.value_of("gain")
    corrected: Objective = clone(objective).set_params(gain=corrected_gain(noise, clean))
    return corrected


def set_trained(
    ranker: Ranker,
    boosted: Boosted,
    start: Start,
    continued: _Continued | None = None,
    n_start_trees: int | None = None,
) -> None:
    """Give a Ranker what training has found: all that fit sets but what is known of the columns.

    Parameters
    ----------
    ranker : not fitted yet.
    boosted : the trees that were grown on top of the start.
    start : where they start; of a model whose training went on, zero.
    continued : that model.
    n_start_trees : how many trees of the start the booster begins with; ``None`` if they are yet to
        be put there.
    """
    ranker.booster_ = boosted.booster
    if n_start_trees is None:
        ranker.booster_, n_start_trees = start.merged_into(boosted.booster, boosted.n_trees)
    ranker.objective_ = resolve_objective(ranker)
    ranker.evals_result_ = boosted.results
    ranker.n_boosters_ = boosted.n_boosters
    ranker.start_kind_, ranker.start_coef_ = start.kind, start.coefficients
    ranker.start_model_ = start.model if start.kind == "model" else None
    ranker.start_factor_ = start.factor
    ranker.linear_coef_ = start.effects()
    if continued is not None:
        ranker.start_kind_, ranker.linear_coef_ = continued.start_kind, continued.linear_coef
        ranker.n_boosters_ = max(boosted.n_boosters, continued.n_boosters)
        if ranker.n_boosters_ == 1:  # else they are not the first ones
            n_start_trees = continued.n_start_trees
    ranker.n_start_trees_ = n_start_trees
    ranker.best_iteration_ = boosted.n_trees - (0 if continued is None else n_start_trees)


def read_rows(
    ranker: Ranker, X: Any, y: Any, qid: Any, group: Any, sample_weight: Any, caller: str
) -> tuple[RankingData, IntArray | None]:
    """Return checked rows in query order, and the user's row at each place; remember the columns.

    Parameters
    ----------
    ranker : not fitted yet; it is told what its features are.
    X, y, qid, group, sample_weight : as in :meth:`Ranker.fit`.
    caller : for error messages.
    """
    data = ranker._read_rows(X, y, qid, group, sample_weight, None, caller, reset=True)
    order, filled = data.layout.order, np.flatnonzero(data.layout.sizes)
    if order is not None or len(filled) < data.n_queries:
        data = data.take(filled)
    return data, order


def make_member(
    ranker: Ranker, objective: Objective, kind: str, scores: Sequence[FloatArray | None]
) -> Member:
    """Return what a Ranker with one loss grows on the parts of a cross-fit.

    Parameters
    ----------
    ranker : not fitted yet.
    objective : its loss, of :func:`resolve_objective`.
    kind : where boosting starts, for people.
    scores : for each part, the scores of all rows that its booster starts from.
    """
    return Member(
        _member_name(objective, kind),
        lightgbm_params(ranker.get_params(deep=False)),
        _with_seeds_of_their_own([objective] * len(scores), 0),
        scores,
    )


def _named_metric(metric: Any) -> Any:
    """Return what :func:`gbrank.metrics.get_metric` takes; ``None`` for a plain function."""
    named = metric if isinstance(metric, str | Metric) else getattr(metric, "metric", None)
    return named if isinstance(named, str | Metric) else None


def _first_metric(metrics: Any) -> Metric | None:
    """Return the metric that decides early stopping, where it has a name."""
    named = _named_metric(metrics[0] if metrics and isinstance(metrics, list | tuple) else metrics)
    return None if named is None else get_metric(named)


def _with_seeds_of_their_own(objectives: Sequence[Objective], first: int) -> list[Objective]:
    """Return copies whose seeds are counted up, beginning with the number ``first``."""
    copies = [clone(each) for each in objectives]
    for number, each in enumerate(copies, first):
        each.shift_seed(number)
    return copies


def _member_name(objective: Objective, start: str) -> str:
    return f"{objective_name(objective) or type(objective).__name__} from {start}"


def _is_set_by_fit(attribute: str) -> bool:
    return attribute.endswith("_") and not attribute.startswith("_")


def _is_saved(attribute: str) -> bool:
    """Return whether a model file holds this attribute as it is: what fit sets, but the trees."""
    apart = (
        "booster_",
        "objective_",
        "feature_importances_",
        "cv_predictions_",
        "training_queries_",  # not for everybody who gets the file
    )
    return _is_set_by_fit(attribute) and attribute not in apart


@dataclass(frozen=True)
class Members:
    """Members that were grown, and how they become one model.

    Attributes
    ----------
    members, starts, grown : of each member what it is, where each booster starts, its boosters.
    data, parts, held_out : rows in query order, what each booster saw of them, what judged it.
    weigh : how the members are blended, the linear start alone, if there is one, being the last.
    """

    members: list[Member]
    starts: list[list[Start]]
    grown: list[GrownMember]
    data: RankingData
    parts: list[Part]
    held_out: HeldOut
    weigh: Callable[[HeldOut, Sequence[FloatArray]], Blend] = blend_members

    def set_trained(self, ranker: Ranker, order: IntArray | None) -> None:
        """Give a Ranker the blend, as one sum of trees, and what the held-out queries say of it.

        Parameters
        ----------
        ranker : not fitted yet.
        order : the user's row at each place; ``None`` if rows are in the user's order.
        """
        scores = [each.held_out for each in self.grown]
        names = [each.name for each in self.members]
        starts, counts = list(self.starts), [each.n_trees for each in self.grown]
        alone = next((at for at, each in enumerate(self.starts) if each[0].trees()), None)
        if alone is not None:
            scores.append(self._scores_of_start(alone))
            names.append("linear")
            starts.append(self.starts[alone])
            counts.append([])
        blend = self.weigh(self.held_out, scores)
        shares = np.outer(blend.coefficients, part_shares(self.parts))
        start = add_up(
            [each for group in starts for each in group],
            shares.ravel().tolist(),
        )
        kept = blend.weights[: len(self.grown)] > 0
        first_trees = start.trees()
        booster = merge_models(
            [booster for each in self.grown for booster in each.boosters],
            [count for each in self.grown for count in each.n_trees],
            first_trees,
            shares[: len(self.grown)].ravel().tolist(),
            # squared scores of the blend: a member is the mean of its boosters, not their sum
            (shares * blend.coefficients[:, None])[: len(self.grown)].ravel().tolist(),
        )
        results = {name: grown.results for name, grown in zip(names, self.grown, strict=False)}
        ranker.evals_start_ = {
            name: self._judged(self._scores_of_start(at))
            for at, name in enumerate(names[: len(self.grown)])
        }
        n_trees = booster.num_trees() - len(first_trees)
        boosted = Boosted(booster, n_trees, int(kept.sum()) * len(self.parts), results)
        set_trained(ranker, boosted, start, n_start_trees=len(first_trees))
        ranker.cv_score_, ranker.cv_score_se_ = blend.score, blend.error
        blended = blend.coefficients @ np.array(scores)
        if self.data.init_score is not None:
            blended -= self.data.init_score[self.held_out.rows]
        rows = self.held_out.rows if order is None else order[self.held_out.rows]
        ranker.cv_predictions_ = np.full(self.data.n_rows, np.nan)
        ranker.cv_predictions_[rows] = blended
        ranker.members_ = [
            {"name": name, "trees": sum(count), "weight": float(weight), "cv_score": score}
            for name, count, weight, score in zip(
                names, counts, blend.weights, blend.member_scores, strict=True
            )
        ]

    def _judged(self, scores: FloatArray) -> dict[str, float]:
        """Return the metrics of scores of the held-out rows."""
        means = [self.held_out.mean(values)[0] for values in self.held_out.values(scores)]
        return dict(zip(self.held_out.names, means, strict=True))

    def _scores_of_start(self, member: int) -> FloatArray:
        """Return the scores of the held-out rows by the starts of a member alone."""
        scores = np.zeros(self.data.n_rows)
        for (_, outside), start in zip(self.parts, self.members[member].starts, strict=True):
            rows = rows_of(self.data, outside)
            scores[rows] = 0.0 if start is None else start[rows]
        if self.data.init_score is not None:
            scores += self.data.init_score
        return scores[self.held_out.rows]

    def report(self, ranker: Ranker) -> str:
        """Return what the model is made of, and what it costs to serve, for people."""
        metric = self.held_out.names[0]
        table = text_table(
            ["member", "trees", "weight", metric],
            [
                [
                    each["name"],
                    str(each["trees"]),
                    f"{each['weight']:.3f}",
                    f"{each['cv_score']:.4f}",
                ]
                for each in ranker.members_
            ],
        )
        n_folds = len(self.parts) - 1  # the last part is the whole
        how = f"{n_folds} folds" if n_folds else "one part held out"
        return (
            f"{table}\npreset={ranker.preset_!r}, {how}: {metric} {ranker.cv_score_:.4f} with a "
            f"standard error of {ranker.cv_score_se_:.4f}\n{ranker.n_boosters_} boosters, "
            f"{describe_size(ranker.booster_, ranker.n_start_trees_)}"
        )


@dataclass(frozen=True)
class _Continued:
    """A model whose training goes on.

    Attributes
    ----------
    booster : the trees that it predicts with.
    start_kind, n_start_trees, linear_coef, n_boosters, hessian_unit : as of a Ranker.
    """

    booster: lgb.Booster
    start_kind: str = "zero"
    n_start_trees: int = 0
    linear_coef: FloatArray | None = None
    n_boosters: int = 1
    hessian_unit: float | None = None

    @property
    def n_trees(self) -> int:
        """How many trees there are, those of the start apart."""
        return int(self.booster.current_iteration()) - self.n_start_trees

    @classmethod
    def of(cls, model: Any) -> _Continued:
        """Take a Ranker, another estimator of LightGBM, a Booster or the path of a file."""
        if isinstance(model, lgb.Booster):
            return cls(model)
        if isinstance(model, str | os.PathLike):
            if not is_model_file(model):
                return cls(read_lightgbm_model(model))
            model = Ranker.load_model(model)
        if not hasattr(model, "booster_") or not hasattr(model, "best_iteration_"):
            raise TypeError(
                "init_model must be a fitted Ranker, a Booster or the path of a model, got "
                f"{type(model).__name__}"
            )
        if getattr(model, "start_kind_", "zero") not in ("zero", "linear"):
            raise ValueError(
                "init_model must have a start that its trees hold, 'zero' or 'linear', but that of "
                f"this one is {model.start_kind_!r}, which new trees would not know of"
            )
        n_start_trees = getattr(model, "n_start_trees_", 0)
        return cls(
            first_trees_of(model.booster_, (model.best_iteration_ or 0) + n_start_trees),
            getattr(model, "start_kind_", "zero"),
            n_start_trees,
            getattr(model, "linear_coef_", None),
            getattr(model, "n_boosters_", 1),
            getattr(model, "hessian_unit_", None),
        )


def _before_the_first_tree(
    evaluation: Sequence[Any], metrics: Sequence[Callable[..., Any]]
) -> dict[str, dict[str, float]]:
    """Return the metrics of each evaluation set at the scores that boosting starts from."""
    found: dict[str, dict[str, float]] = {}
    for number, data in enumerate(evaluation):
        if not isinstance(data, RankingData):
            continue
        layout, weight = data.layout, data.sample_weight
        scores = np.zeros(data.n_rows) if data.init_score is None else layout.sort(data.init_score)
        ordered = None if weight is None else layout.sort(weight)
        values: dict[str, float] = {}
        for metric in metrics:
            if _named_metric(metric) is not None:  # not a function that needs a Dataset
                result = metric(layout.sort(data.y), scores, ordered, layout.sizes)
                for name, value, *_ in result if isinstance(result, list) else [result]:
                    values[name] = value
        found[f"valid_{number}"] = values
    return found


def _observations(objective: Objective, preferences: Observations | None) -> Observations | None:
    """Return what an objective learns from instead of labels: what fit got, or its own."""
    if preferences is None:
        own = getattr(objective, "observations", None)
        return own if isinstance(own, Observations) else None
    if not isinstance(preferences, Observations):
        raise TypeError(
            "preferences must be gbrank.preferences.Comparisons, Selections or PartialOrders, got "
            f"{type(preferences).__name__}"
        )
    if "observations" not in objective.get_params(deep=False):
        raise ValueError(
            f"{type(objective).__name__} learns from labels, not from preferences; use "
            "objective='ustatistic', 'preference_logistic' or 'pairwise_logistic'"
        )
    return preferences


def _evaluation_sets(
    eval_X: Any, eval_y: Any, eval_qid: Any, weight: Any, init_score: Any, column: Any
) -> list[tuple[Any, ...]]:
    """Return (X, y, qid, weight, init_score) of each evaluation set."""
    required = {"eval_X": eval_X, "eval_y": eval_y, "eval_qid": eval_qid}
    optional = {"eval_sample_weight": weight, "eval_init_score": init_score}
    named = required | optional
    if all(value is None for value in named.values()):
        return []
    if eval_X is None:
        present = [name for name, value in named.items() if value is not None]
        raise ValueError(f"an evaluation set needs eval_X, but only {present} came")
    n_sets = len(eval_X) if isinstance(eval_X, tuple) else 1
    if eval_qid is None and isinstance(column, str):
        named["eval_qid"] = (column,) * n_sets if isinstance(eval_X, tuple) else column
    parts = {}
    for name, value in named.items():
        if not isinstance(eval_X, tuple) or value is None:
            parts[name] = [value] * n_sets
        elif not isinstance(value, tuple) or len(value) != n_sets:
            got = len(value) if isinstance(value, tuple) else type(value).__name__
            raise ValueError(
                "eval_X, eval_y and eval_qid must be tuples of the same length: eval_X has "
                f"{n_sets}, {name} {got}"
            )
        else:
            parts[name] = list(value)
    sets = list(zip(*parts.values(), strict=True))
    for X, y, qid, *_ in sets:
        missing = [name for name, value in (("eval_y", y), ("eval_qid", qid)) if value is None]
        if missing and not isinstance(X, lgb.Dataset):
            raise ValueError(
                f"an evaluation set needs eval_X, eval_y and eval_qid: {missing} missing"
            )
    return sets
