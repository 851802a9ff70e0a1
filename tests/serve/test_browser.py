"""The pages in a real browser: log in, begin, watch it move, drop a file, log out, as another role.

Skipped where there is no Chromium. TIDEPROOF_PICTURES=folder keeps a picture of every page, to be looked at; axe looks at
each, too, where `make clients` brought it.
"""

import os
import random
import threading

import pytest

from serve.browser import CHROMIUM, Browser
from serve.service_clients import ADMIN, MODULES, Served
from serve.test_pages import LOG

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")

SHAPES = {"phone": (360, 740), "phone dark": (360, 740), "desk": (1440, 900), "desk dark": (1440, 900)}
PICTURES = os.environ.get("TIDEPROOF_PICTURES")
AXE = MODULES / "axe-core" / "axe.min.js"

# What a page must not have on any screen: something that is wider than it, or words that are hard to read
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CONTRAST = """(() => {
  const parse = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(node).backgroundColor);
      if (a > .99) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("body *")) {
    const words = [...node.childNodes].some(each => each.nodeType === 3 && each.data.trim());
    if (!words || !node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    const [a, b] = [light(parse(node.closest("svg") ? style.fill : style.color)), light(ground(node))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) poor.push(node.tagName + "." + node.className + ": " + node.textContent.slice(0, 40));
  }
  return poor;
})()"""

FOUND_BY_AXE = """axe.run().then(found => found.violations.map(
  each => [each.impact, each.id, each.nodes.slice(0, 3).map(node => node.html.slice(0, 120))]))"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("browser")) as served:
        yield served


@pytest.fixture
def browser():
    browser = Browser()
    yield browser
    browser.close()


def check(browser, name):
    """Look at a page on every screen."""
    for shape, size in SHAPES.items():
        browser.shape(*size, dark="dark" in shape)
        assert browser.run(WIDE) <= 0, (name, shape)
        assert browser.run(CONTRAST) == [], (name, shape)
        if AXE.exists():
            browser.run(AXE.read_text() + "; true")
            assert browser.run(FOUND_BY_AXE) == [], (name, shape)
        if PICTURES:
            browser.picture(f"{PICTURES}/{name} {shape}.png")
    browser.shape(1440, 900)


def log_in(browser, url, secret):
    browser.go(url)
    browser.write("#key", secret)
    browser.press("button.main")


def test_a_day_of_a_team(browser, served):
    import tideproof as tp

    log_in(browser, served.url, ADMIN)
    check(browser, "no experiments")

    browser.go(f"{served.url}/new")
    check(browser, "new")
    browser.write("#name", "prices")
    browser.write("#arms", "low\nhigh")
    browser.write("#budget", "2000")
    browser.press("button[value=begin]")
    assert browser.run("document.querySelector('h1').innerText") == "No rewards yet."

    run = tp.connect(served.url, ADMIN, "prices")
    noise = random.Random(0)

    def play():
        for day in range(3):
            for _ in range(6):
                pulls = run.ask(n=5, environment=f"day {day}")
                run.tell_many(pulls, [3 * day + (pull.arm == "high") + noise.gauss(0, 1) for pull in pulls])

    client = threading.Thread(target=play)
    client.start()
    browser.until("document.querySelector('h1').innerText.startsWith('high leads: ')", 60.0)
    client.join()
    browser.until("document.querySelector('.tiles').innerText.includes('90')", 30.0)  # by itself
    assert browser.run("document.querySelectorAll('svg[role=img]').length") >= 4
    browser.run("document.querySelector('thead button').click()")  # sorts
    assert browser.run("document.querySelector('th[aria-sort]').innerText").startswith("variant")
    check(browser, "experiment")

    browser.run("document.querySelector('thead button').click(); document.activeElement.blur()")
    assert browser.run("document.querySelector('th[aria-sort]').ariaSort") == "descending"
    run.note("it is sorted still")
    browser.until("document.querySelector('#notes').innerText.includes('sorted still')")
    play_more = run.ask(n=4, environment="day 3")
    run.tell_many(play_more, [9.0, 9.5, 10.0, 10.5])
    browser.until("document.querySelector('.tiles').innerText.includes('94')")
    assert browser.run("document.querySelector('th[aria-sort]').ariaSort") == "descending"
    assert browser.run("document.querySelector('tbody th').innerText") == "low"
    assert browser.run("document.querySelector('#announced').innerText").startswith("high leads: ")

    browser.run("document.querySelector('#change').open = true")
    browser.write("#text", "a <b>sale</b> began")
    browser.press("#change button")
    assert "a <b>sale</b> began" in browser.run("document.querySelector('#notes').innerText")

    browser.go(f"{served.url}/analyze")
    check(browser, "analyze")
    browser.run(f"""(() => {{
        const data = new DataTransfer();
        data.items.add(new File([{LOG!r}], "log.csv"));
        const form = document.querySelector("[data-drop]");
        form.dispatchEvent(new DragEvent("drop", {{dataTransfer: data, bubbles: true, cancelable: true}}));
    }})()""")
    browser.press("button[value=page]")
    assert browser.run("document.querySelector('h1').innerText").startswith("B is best")
    check(browser, "analyzed")

    browser.go(f"{served.url}/keys")
    browser.write("#name", "ann")
    browser.press("form.card button.main")
    secret = browser.run("document.querySelector('code').innerText")
    check(browser, "keys")

    browser.press(".who button")
    assert browser.run("location.pathname") == "/login"
    check(browser, "login")
    log_in(browser, served.url, secret)
    assert browser.run("document.querySelector('.who span').innerText") == "ann, viewer"
    assert browser.run("document.querySelectorAll('nav a').length") == 2
    check(browser, "experiments")
    browser.go(f"{served.url}/experiments/prices")
    assert browser.run("document.querySelector('#change')") is None
    assert browser.complaints == []  # of the Content-Security-Policy, or of a script


def test_the_first_key_of_the_keyboard_skips_the_menu(browser, served):
    browser.go(f"{served.url}/nothing")
    check(browser, "nothing")
    for kind in ("keyDown", "keyUp"):
        browser.tell("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert browser.run("document.activeElement.className") == "skip"


def test_a_decision_needs_a_confirmation(browser, served):
    import tideproof as tp

    run = tp.connect(served.url, ADMIN, "buttons", ["old", "new"], visitors=True)
    browser.go(f"{served.url}/login")
    browser.write("#key", ADMIN)
    browser.write("#person", "Ann Smith")
    browser.press("button.main")
    browser.go(f"{served.url}/experiments/buttons")
    assert browser.run("document.querySelector('.who span').innerText") == "Ann Smith, admin, admin"
    browser.run("document.querySelector('#change').open = true")
    check(browser, "decide")
    browser.run("document.querySelector('#ship').value = 'old'")
    browser.write("#decision-why", "legal says no to new")
    assert not browser.run("document.querySelector('#decide').checkValidity()")
    browser.run("document.querySelector('#confirm-stop').checked = true")
    browser.press("#decide button")
    said = browser.run("document.querySelector('.decision').innerText")
    assert said.startswith("Every visitor gets the variant old. Stopped by environment admin: Ann Smith, ")
    assert run.shipped == "old"
    browser.run("document.querySelector('#change').open = true")
    check(browser, "decided")
    browser.run("document.querySelector('#confirm-archive').checked = true")
    browser.press("form:has(#confirm-archive) button")
    assert "archived" in browser.run("document.querySelector('.over').innerText")
    browser.go(f"{served.url}/?archived=yes")
    check(browser, "archived")
    browser.go(f"{served.url}/experiments/buttons")
    browser.run("document.querySelector('#change').open = true")
    browser.write("#typed", "buttons")
    browser.press("form[action$=delete] button")
    assert browser.run("location.pathname") == "/"
    assert browser.complaints == []
