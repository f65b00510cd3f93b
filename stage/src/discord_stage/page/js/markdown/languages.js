// What the highlighter has to know of each language.

const words = (text) => new Set(text.split(" "));

const DOUBLE = '"(?:\\\\[^]|[^"\\\\\\n])*"?';
const SINGLE = "'(?:\\\\[^]|[^'\\\\\\n])*'?";
const BACKTICK = "`(?:\\\\[^]|[^`\\\\])*`?";
const TRIPLE = "[rbfuRBFU]{0,2}\"\"\"[^]*?(?:\"\"\"|$)|[rbfuRBFU]{0,2}'''[^]*?(?:'''|$)";
const SLASHES = "\\/\\/[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)";
const HASH = "#[^\\n]*";

const C_WORDS =
  "auto break case char const continue default do double else enum extern float for goto if inline int long register return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false NULL";

const python = {
  comment: HASH,
  string: `${TRIPLE}|[rbfuRBFU]{0,2}${DOUBLE}|[rbfuRBFU]{0,2}${SINGLE}`,
  meta: "@[\\w.]+",
  keywords: words(
    "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
  ),
  constants: words("True False None self cls"),
};
const javascript = {
  comment: SLASHES,
  string: `${DOUBLE}|${SINGLE}|${BACKTICK}`,
  meta: "@\\w+",
  keywords: words(
    "abstract any as async await break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in instanceof interface is keyof let namespace new of private protected public readonly return satisfies set static super switch throw try type typeof var void while with yield",
  ),
  constants: words(
    "true false null undefined this NaN Infinity string number boolean never unknown",
  ),
};
const json = {
  comment: SLASHES,
  string: DOUBLE,
  keywords: words(""),
  constants: words("true false null"),
};
const bash = {
  comment: "(?<![\\w$])#[^\\n]*",
  string: `"(?:\\\\[^]|[^"\\\\])*"?|'[^']*'?`,
  meta: "\\$(?:\\{[^}]*\\}|[\\w@#?*!-]+)|(?<=\\s)--?[\\w-]+",
  keywords: words(
    "case do done elif else esac fi for function if in select then until while alias cd echo exec exit export local read return set shift source sudo test trap unset",
  ),
  constants: words("true false"),
};
const css = {
  comment: "\\/\\*[^]*?(?:\\*\\/|$)",
  string: `${DOUBLE}|${SINGLE}`,
  meta: "[@.#][\\w-]+|--[\\w-]+",
  name: "[a-z-]+(?=\\s*:)",
  keywords: words("important and not only from to"),
  constants: words(
    "auto none inherit initial unset block flex grid inline absolute relative fixed sticky solid",
  ),
};
const sql = {
  comment: "--[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)",
  string: "'(?:''|[^'])*'?",
  folds: true,
  keywords: words(
    "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not offset on or order outer over partition primary references returning right rollback select set table then transaction union unique update using values view when where with",
  ),
  constants: words(
    "true false null int integer text varchar boolean timestamp serial bigint numeric count sum avg min max",
  ),
};
const rust = {
  comment: SLASHES,
  string: `b?${DOUBLE}|'(?:\\\\.|[^'\\\\])'`,
  meta: "#!?\\[[^\\]]*\\]|\\b\\w+!|'[a-z_]\\w*",
  keywords: words(
    "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return static struct super trait type unsafe use where while",
  ),
  constants: words(
    "true false self Self None Some Ok Err bool char f32 f64 i8 i16 i32 i64 isize str u8 u16 u32 u64 usize String Vec Option Result Box",
  ),
};
const go = {
  comment: SLASHES,
  string: `${DOUBLE}|'(?:\\\\.|[^'\\\\])'|\`[^\`]*\`?`,
  keywords: words(
    "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var",
  ),
  constants: words(
    "true false nil iota bool byte error float32 float64 int int64 rune string uint make len cap append new panic",
  ),
};
const c = {
  comment: SLASHES,
  string: `${DOUBLE}|${SINGLE}`,
  meta: "^[ \\t]*#\\s*\\w+",
  keywords: words(C_WORDS),
  constants: words("true false NULL size_t uint8_t int32_t"),
};
const cpp = {
  ...c,
  keywords: words(
    `${C_WORDS} class namespace template typename public private protected virtual override new delete using try catch throw constexpr nullptr this operator friend explicit mutable noexcept concept requires co_await co_return`,
  ),
};
const java = {
  comment: SLASHES,
  string: `"""[^]*?(?:"""|$)|${DOUBLE}|${SINGLE}`,
  meta: "@\\w+",
  keywords: words(
    "abstract break case catch class const continue data def default do else enum extends final finally for fun if implements import in instanceof interface internal is lateinit namespace new object open override package private protected public record return sealed static super suspend switch synchronized throw throws try using val var volatile when while yield async await foreach string",
  ),
  constants: words(
    "true false null this void int long double float boolean char byte short String bool unit",
  ),
};
const ruby = {
  comment: HASH,
  string: `${DOUBLE}|${SINGLE}`,
  meta: ":\\w+|@\\w+",
  keywords: words(
    "alias and begin break case class def do else elsif end ensure for if in module next not or redo rescue retry return super then undef unless until when while yield require puts local function repeat",
  ),
  constants: words("true false nil self"),
};
const config = {
  comment: "[#;][^\\n]*",
  string: `${DOUBLE}|${SINGLE}`,
  meta: "^\\s*\\[[^\\]\\n]*\\]",
  name: '^[ \\t-]*[\\w."-]+(?=\\s*[:=])',
  keywords: words(""),
  constants: words("true false null yes no on off"),
};
const markup = {
  comment: "<!--[^]*?(?:-->|$)",
  string: `(?<==)(?:"[^"]*"?|'[^']*'?)`,
  tag: "<\\/?[\\w:-]+|\\/?>",
  name: "[\\w:-]+(?==)",
  meta: "&[\\w#]+;|<![^>]*>",
  keywords: words(""),
  constants: words(""),
};
const diff = {
  added: "^\\+[^\\n]*",
  removed: "^-[^\\n]*",
  meta: "^@@[^\\n]*",
  keywords: words(""),
  constants: words(""),
};
const markdown = {
  keywords: words(""),
  constants: words(""),
  meta: "^#{1,6} [^\\n]*",
  string: "`[^`\\n]*`",
  comment: "^> [^\\n]*",
  name: "\\*\\*[^*\\n]+\\*\\*",
};

const BY_NAME = {
  "python py python3 pyi": python,
  "javascript js jsx ts tsx typescript mjs": javascript,
  "json json5 jsonc": json,
  "bash sh shell zsh console dockerfile makefile": bash,
  "css scss less": css,
  "sql postgres sqlite mysql": sql,
  "rust rs": rust,
  "go golang": go,
  "c h": c,
  "cpp c++ cc hpp arduino": cpp,
  "java kotlin kt cs csharp scala swift dart php": java,
  "ruby rb lua perl elixir": ruby,
  "toml ini yaml yml properties conf env": config,
  "html xml svg vue": markup,
  "diff patch": diff,
  "markdown md": markdown,
};
const LANGUAGES = new Map(
  Object.entries(BY_NAME).flatMap(([names, rules]) =>
    names.split(" ").map((name) => [name, rules]),
  ),
);

export const languageOf = (name) => LANGUAGES.get(name.toLowerCase()) ?? null;
