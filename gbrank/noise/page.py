"""The frame of the HTML report: plain, readable on paper and on a phone."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #1d2430; margin: 0 auto; padding: 2rem 1rem;
       max-width: 78rem; }}
h1 {{ font-size: 1.9rem; margin-bottom: .3rem; }}
h2 {{ font-size: 1.35rem; margin-top: 3rem; border-top: 2px solid #d7dde6; padding-top: 1rem; }}
h3 {{ font-size: 1.05rem; margin-top: 2rem; }}
figure {{ margin: 1.5rem 0; }}
figure img {{ max-width: 100%; height: auto; }}
figcaption, .small, caption {{ color: #56606e; font-size: .85rem; text-align: left; }}
caption {{ padding: .4rem 0; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: .85rem;
        font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25rem .7rem; border-bottom: 1px solid #e3e7ed; text-align: left;
         white-space: nowrap; }}
thead th {{ border-bottom: 2px solid #b9c2ce; }}
tbody tr:hover {{ background: #f4f7fa; }}
pre {{ background: #f4f7fa; padding: .8rem; white-space: pre-wrap; font-size: .85rem; }}
li {{ margin: .3rem 0; }}
p, ul, pre {{ max-width: 62rem; }}
nav ul {{ columns: 2; }}
td.up {{ background: #e3f4e6; }}
td.down {{ background: #fbe7e3; }}
td:first-child, th:first-child {{ position: sticky; left: 0; background: #fff; }}
details {{ margin: .8rem 0; }}
summary {{ cursor: pointer; font-size: .85rem; color: #56606e; }}
@media print {{ details > * {{ display: block; }} }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{lead}</p>
<nav><ul>{contents}</ul></nav>
{body}
</body>
</html>
"""
