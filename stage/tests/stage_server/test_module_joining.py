"""The modules of the page are joined into scripts that do what the modules do."""

from __future__ import annotations

from pathlib import Path

import pytest

from discord_stage import StageError
from discord_stage.page.module_joining import joined
from discord_stage.page.page_serving import FOLDER, MAIN


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    (tmp_path / "view").mkdir()
    (tmp_path / "main.js").write_text(
        'import { Chat } from "./view/chat.js";\nimport {\n  el,\n  svg,\n} from "./dom.js";\n'
        "new Chat(el, svg);\n"
    )
    (tmp_path / "view" / "chat.js").write_text(
        'import { el } from "../dom.js";\nexport class Chat {}\n'
    )
    (tmp_path / "dom.js").write_text(
        "export function el() {}\nexport async function svg() {}\nexport const A = 1;\nlet b = 2;\n"
    )
    return tmp_path


JOINED_MODULES = """\
const $module0 = (() => {
function el() {}
async function svg() {}
const A = 1;
let b = 2;

return { el, svg, A };
})();
// view/chat.js
const $module1 = (() => {
const { el } = $module0;
class Chat {}

return { Chat };
})();
"""


def test_each_module_runs_once_after_what_it_imports(modules: Path) -> None:
    script = joined(modules / "main.js")
    assert JOINED_MODULES in script
    ours = script.split("const $module2 = (() => {\n")[1]
    assert ours.startswith(
        "const { Chat } = $module1;\nconst {\n  el,\n  svg,\n} = $module0;\nnew Chat(el, svg);\n"
    )
    assert script.count("(() => {") == 3


def test_what_the_first_module_exports_the_script_exports(modules: Path) -> None:
    assert joined(modules / "dom.js").endswith("export const { el, svg, A } = $module0;\n")


def test_modules_that_import_each_other_are_refused(modules: Path) -> None:
    (modules / "dom.js").write_text('import { Chat } from "./view/chat.js";\n')
    with pytest.raises(StageError, match=r"chat\.js imports dom\.js imports chat\.js"):
        joined(modules / "main.js")


@pytest.mark.parametrize(
    "line",
    [
        'import { el as make } from "./dom.js";',
        'import * as dom from "./dom.js";',
        'import "./dom.js";',
        'import { el } from "/page/dom.js";',
        "export default 1;",
        "export let changing = 1;",
        'export { el } from "./dom.js";',
    ],
)
def test_what_cannot_be_joined_is_refused(modules: Path, line: str) -> None:
    (modules / "main.js").write_text(f"// what follows is odd\n{line}\n")
    with pytest.raises(StageError, match=r"cannot be joined: main\.js has"):
        joined(modules / "main.js")


def test_an_absolute_address_is_a_file_of_the_page(modules: Path) -> None:
    (modules / "view" / "chat.js").write_text(
        'import { el } from "/page/dom.js";\nexport class Chat {}\n'
    )
    assert JOINED_MODULES in joined(modules / "main.js", {"/page/": modules})


def test_the_script_of_the_page_holds_all_of_its_modules() -> None:
    script = joined(MAIN)
    for file in FOLDER.rglob("*.js"):
        assert f"// {file.parent.name}/{file.name}\nconst $module" in script, file
