"""The report: one page with everything in it, saying the numbers of the CSV."""

import base64
import csv
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib")


class Page(HTMLParser):
    """What a page shows and what it asks for."""

    def __init__(self, text):
        super().__init__()
        self.words, self.addresses, self.images, self.tags = [], [], [], []
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action", "data", "poster"):
                self.addresses.append(value)
                if tag == "img":
                    self.images.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(scope="module")
def page(finished):
    return Page((finished / "report.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def rows(finished):
    with (finished / "results.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_page_is_well_formed_and_needs_nothing_from_outside(page, finished):
    assert page.open == []
    assert "script" not in page.tags
    for address in page.addresses:
        assert address.startswith(("data:", "#")), address
    style = (finished / "report.html").read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(r"https?://", style)


def test_images_are_embedded_pictures(page, finished):
    assert len(page.images) == 3
    pictures = {path.read_bytes() for path in (finished / "figures").glob("*.svg")}
    for image in page.images:
        head, data = image.split(",", 1)
        assert head == "data:image/svg+xml;base64"
        assert base64.b64decode(data) in pictures


def test_text_says_the_numbers_of_the_csv(page, rows, finished):
    markdown = (finished / "report.md").read_text(encoding="utf-8")
    assert len(rows) == 2 * 2 * 2 * 4  # settings, levels, metrics, objectives
    for row in rows:
        numbers = f"{float(row['mean']):.4f} [{float(row['low']):.4f}, {float(row['high']):.4f}]"
        if row["against"]:
            numbers += f" ({float(row['difference']):+.4f}"
        for text in (page.text, markdown):
            assert numbers in text
            assert row["objective"] in text
            assert row["metric"] in text


def test_text_says_what_was_run_and_how_to_rerun_it(page):
    for words in (
        "Tiny: synthetic",
        "48 of 48 trials are finished: 4 of 4 for each",
        "Training labels are corrupted; validation and test are clean",
        "units are queries",
        "trials finished",
        "gbrank noise run tiny --data synthetic",
        "--trials 4",
        "minus that of lightgbm:lambdarank), 95% interval over 4 trials",
        "What is significant, and what is not",
        "num_leaves 4",
        "lightgbm 4.",
        "Pair noise",
    ):
        assert words in page.text, words


def test_findings_name_what_is_significant(page, rows):
    primary = [row for row in rows if row["metric"] == "ndcg@10" and row["against"]]
    for row in primary:
        significant = float(row["p_queries_holm"]) < 0.05
        assert (row["verdict"] in ("better", "worse")) == significant
        said = f"{row['objective']} ({float(row['difference']):+.4f}, p "
        assert (said in page.text) == significant
    assert any(row["verdict"] == "better" for row in primary)
    assert "not told apart: lightgbm:rank_xendcg" in page.text


def test_settings_of_the_trees_are_compared(page, finished):
    with (finished / "settings.csv").open(encoding="utf-8") as file:
        compared = list(csv.DictReader(file))
    assert len(compared) == 2 * 2  # levels, learners: floors have no trees
    for row in compared:
        low, high = float(row["difference_low"]), float(row["difference_high"])
        text = f"{float(row['difference']):+.4f} [{low:+.4f}, {high:+.4f}]"
        assert text in page.text
        assert (row["setting"], row["against"]) == ("small", "smaller")
    assert "The trees alone" in page.text


def test_report_again_gives_the_same_bytes(noise, finished, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    for path in (copy / "figures").iterdir():
        path.unlink()
    (copy / "report.html").unlink()
    assert noise("report", copy)[0] == 0
    for name in ("report.html", "report.md", "results.csv", "tiny.tar.xz"):
        assert (copy / name).read_bytes() == (finished / name).read_bytes()
    assert len(list((copy / "figures").iterdir())) == 6


def test_browser_opens_it_without_errors_or_requests(finished, tmp_path):
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next((path for name in names if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser on PATH: none of {', '.join(names)}")
    blank = tmp_path / "blank.html"
    blank.write_text("<!doctype html><title>blank</title>")
    _, usual = _open_in(browser, blank, tmp_path / "first")  # what a browser asks for by itself
    shown, asked = _open_in(browser, finished / "report.html", tmp_path / "second")
    assert "Losses under noise" in shown
    assert asked <= usual


def _open_in(browser, page, folder):
    """Return the page as the browser built it, and the hosts that were asked for anything."""
    folder.mkdir()
    log = folder / "net.json"
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
        "--no-first-run", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr",
        "--v=0", f"--log-net-log={log}", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr
    written = log.read_text(errors="replace") if log.exists() else ""
    return done.stdout, set(re.findall(r'"url":"https?://([^/"]+)', written))
