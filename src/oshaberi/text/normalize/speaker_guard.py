"""Stops where the model begins to speak for somebody else (spec 06 S7).

`Note:`, `Step 1:` and other labels of prose are not speakers.
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.config import TextConfig
from oshaberi.text.line_kinds import block_kind
from oshaberi.text.normalize.own_name import has_colon
from oshaberi.text.normalize.pieces import Normalizer, SegmentWork, TextPiece

# Labels that belong to prose, not to a speaker: `Note:`, `Step 1:`, `Zutaten:`, `例:`.


_ENGLISH: Final = """
note notes nb tip tips hint hints warning caution danger important attention disclaimer example
examples summary overview conclusion introduction intro background context answer answers question
questions q a qa step steps stage phase part section chapter page volume episode scene act verse
chorus bridge pros cons pro con advantages disadvantages benefits drawbacks strengths weaknesses
tl;dr tldr ps pps edit edited update updated source sources reference references citation link
links url website credit credits result results output input error errors fix fixed bug issue issues
problem problems solution solutions cause causes reason reasons effect effects goal goals objective
objectives task tasks todo todos plan agenda schedule date dates time times place location address
phone email e-mail price cost costs total subtotal sum budget name names title subject topic topics
re fwd cc bcc from to message reply quote quotes translation pronunciation meaning definition
definitions synonym synonyms antonym etymology usage syntax format type types kind category tags
keywords keyword status version requirements ingredients instructions directions method preparation
materials equipment tools servings yield prep cook features feature specs specification options
option alternative alternatives choice choices variant case cases scenario rule rules exception
exceptions fact facts myth reality truth trivia bonus extra spoiler spoilers trigger content
correction clarification addendum footnote remark remarks comment comments caveat caveats however
therefore meanwhile finally first firstly second secondly third thirdly lastly next then also
additionally moreover furthermore otherwise instead before after now today tomorrow yesterday later
monday tuesday wednesday thursday friday saturday sunday january february march april may june july
august september october november december morning afternoon evening night day week month year hour
minute breakfast lunch dinner dessert drink drinks snack snacks age gender height weight genre
rating score level hp mp xp item items list lists point points idea ideas thought thoughts advice
suggestion suggestions recommendation recommendations verdict opinion takeaway takeaways lesson
lessons moral highlights details detail description explanation reasoning analysis proof theorem
lemma corollary claim hypothesis assumption assumptions given find formula equation calculation
python javascript typescript java rust go c bash shell sql html css json yaml windows linux macos
android ios reminder announcement news breaking headline intermission setting mood theme ooc meta
settings default defaults parameters parameter arguments argument returns return value values key
keys file files folder path command commands usage prompt request response label labels warnings
symptoms treatment diagnosis side translation english japanese german french spanish portuguese
chinese korean romaji hiragana katakana kanji pinyin literal literally difference differences
similarities comparison winner winners loser team teams player players song artist album author
book movie film game anime manga show series language languages country city capital population
currency sure okay ok yes no well so plus minus and or but actually basically essentially
technically personally honestly conclusion outcome impact risk risks timeline history origin
structure outline checklist shortcut shortcuts resources resource further recap faq intro outro
"""
_PHRASES: Final = """
for example|for instance|in short|in summary|in conclusion|in other words|in fact|by the way
fun fact|pro tip|side note|quick note|content warning|trigger warning|on the other hand
good news|bad news|long story short|to be fair|to sum up|best regards|kind regards|p.s.|p.p.s.
e.g.|i.e.|see also|read more|learn more|more info|work in progress|step by step|last but not least
too long didn't read|zum beispiel|par exemple|por ejemplo|por exemplo|en resumen|em resumo|en bref
kurz gesagt|en conclusion|en conclusión|em conclusão|post scriptum
"""
_OTHERS: Final = """
hinweis hinweise anmerkung anmerkungen notiz tipp tipps achtung warnung vorsicht wichtig beispiel
beispiele zusammenfassung fazit antwort antworten frage fragen schritt schritte teil kapitel
abschnitt vorteile nachteile quelle quellen ergebnis ergebnisse ausgabe eingabe fehler lösung
lösungen problem ursache grund gründe ziel ziele aufgabe aufgaben zutaten zubereitung anleitung
material datum zeit ort preis kosten summe gesamt thema betreff nachtrag übersetzung bedeutung
definition übersicht einleitung hintergrund regel regeln montag dienstag mittwoch donnerstag
freitag samstag sonntag erstens zweitens drittens außerdem
remarque remarques attention avertissement astuce astuces conseil conseils exemple exemples résumé
réponse réponses question étape étapes partie chapitre avantages inconvénients source résultat
résultats erreur erreurs solution problème problèmes cause raison raisons objectif objectifs
ingrédients préparation instructions matériel heure lieu prix coût sujet objet traduction
signification définition aperçu règle règles contexte lundi mardi mercredi jeudi vendredi samedi
dimanche premièrement deuxièmement
nota notas consejo consejos advertencia cuidado atención importante aviso ejemplo ejemplos resumen
conclusión respuesta respuestas pregunta preguntas paso pasos parte capítulo sección ventajas
desventajas contras fuente fuentes resultado resultados salida entrada error errores solución
soluciones problema problemas causa razón razones objetivo objetivos tarea tareas ingredientes
preparación instrucciones materiales fecha hora lugar precio costo coste tema asunto traducción
significado definición regla reglas contexto lunes martes miércoles jueves viernes sábado domingo
primero segundo tercero posdata
dica dicas aviso atenção exemplo exemplos resumo conclusão resposta respostas pergunta perguntas
passo passos seção vantagens desvantagens fonte fontes saída erro erros solução soluções razão
tarefa tarefas preparo instruções materiais data preço custo assunto tradução definição regra
regras segunda terça quarta quinta sexta observação obs
注意 注記 注 備考 補足 例 例文 例えば ヒント コツ ポイント 重要 警告 要約 まとめ 結論 概要 答え
回答 解答 質問 問題 解決策 手順 ステップ パート 章 第一 メリット デメリット 長所 短所 出典 参考
引用 結果 出力 入力 エラー 原因 理由 目的 目標 課題 材料 作り方 分量 日時 日付 時間 場所 住所 値段
価格 料金 合計 件名 題名 タイトル テーマ 追記 訂正 翻訳 訳 意味 定義 読み方 発音 説明 解説 特徴
背景 ルール 条件 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日 朝 昼 夜 今日 明日 昨日 ちなみに
余談 結局 提示 备注 備註 说明 說明 警告 重要 示例 例子 例如 比如 总结 總結 结论 結論 概述 回答 答案
问题 問題 步骤 步驟 部分 章节 优点 優點 缺点 缺點 来源 來源 参考 參考 结果 結果 输出 輸出 输入 輸入
错误 錯誤 原因 理由 目标 目標 任务 任務 材料 做法 方法 日期 时间 時間 地点 地點 价格 價格 总计 總計
主题 主題 标题 標題 更新 更正 翻译 翻譯 意思 定义 定義 规则 規則 星期一 星期二 星期三 星期四 星期五
星期六 星期日 首先 其次 最后 最後 另外 참고 주의 경고 중요 팁 예 예시 예를 요약 결론 개요 답 답변
질문 문제 해결책 해결 단계 부분 장점 단점 출처 결과 출력 입력 오류 원인 이유 목적 목표 과제 재료
방법 만드는법 날짜 시간 장소 가격 합계 제목 주제 수정 추가 번역 뜻 의미 정의 설명 규칙 월요일
화요일 수요일 목요일 금요일 토요일 일요일 첫째 둘째 셋째
"""
# No name of several words begins with one of these.
_OPENERS: Final = """
i i'm i'll i'd i've you you're he she it it's we they this that that's these those here here's
there there's my your his her our their its in on at for from with without by to of as if when while
because since so and but or not no yes just also then now what what's how why where who which is
are was were do does did don't can can't could would should let let's some any all each every both
more most other another first second third next finally after before about using remember imagine
think try see use given
hier dies dieser diese dieses mein meine dein deine ich wir wenn weil für mit ohne bei von zu auf im
am und oder aber was wie warum wo wer voici voilà ceci cela mon mes ton tes je nous pour avec sans
dans sur et ou mais si quand comment pourquoi aquí esto este esta estos estas mi mis tu tus yo para
con sin por en y pero cuando cómo qué aqui isto meu minha seu sua eu com sem em e mas quando como
"""
# A name may begin with an article (The Doctor, La Llorona): then its next word is capitalised.
_ARTICLES: Final = (
    "the a an der die das ein eine le la les un une des el los las una o os as um uma"
)

_LABELS: Final = frozenset(_ENGLISH.split()) | frozenset(_OTHERS.split())
_WHOLE: Final = frozenset(phrase for line in _PHRASES.split("\n") for phrase in line.split("|"))
_FIRST_WORDS: Final = frozenset(_OPENERS.split())
_ARTICLE_WORDS: Final = frozenset(_ARTICLES.split())
_NUMBERED: Final = re.compile(r"(?:\s+(?:[a-z]|[ivx]{1,5})|\s*[#№]?\d+(?:\.\d+)*)\Z")


def is_prose_label(label: str) -> bool:
    """Return whether `label` (without its colon) is an ordinary heading of prose."""
    folded = " ".join(label.casefold().replace("’", "'").split())
    if folded in _WHOLE:
        return True
    words = _NUMBERED.sub("", folded).split()
    if not words or words[-1] in _LABELS:
        return True
    if len(words) < 2:
        return False
    return words[0] in _FIRST_WORDS or (words[0] in _ARTICLE_WORDS and _second_is_small(label))


def _second_is_small(label: str) -> bool:
    return label.split()[1][:1].islower()


# Stops where the model begins to speak for somebody else (spec 06 S7).
#
# By default only for `Assistant:`, which is nobody's name, and for those who take part in the
# conversation, if their label is followed by words: `alice: 3` is a score, `alice: hi` is a turn.
# Two switches widen it, to all known names or to anything that looks like a speaker.


RESERVED: Final = frozenset(("assistant", "user", "human", "system"))
NOBODY: Final = frozenset(("assistant",))
"""The only reserved name that is always a speaker: `User:` may begin a list of settings."""
_LABEL: Final = re.compile(
    r"[ \t]*(?:\*{1,3}|__)?([^\s*`:：][^\n*`:：]{0,139}?)[ \t]?(?:\*{1,3}|__)?[ \t]?[:：]"
    r"(?![:：]|//)"
)
_MODIFIED: Final = re.compile(r"([^(（]+?)[ \t]*[(（][^()（）]{1,64}[)）]")
_SPEAKER_LIKE: Final = re.compile(r"(?=[^\n]*[^\W\d_])\w[\w .'’-]{0,63}")
_MAX_WORDS: Final = 4
_SETS_OFF: Final = frozenset("*_\"'“「『(（")
_WORDS: Final = re.compile(r"[\W_]*[^\W\d_]")
"""What is said begins with a letter, whatever marks come before it; a score begins with a digit."""
_SHORTEST_NAME: Final = 2


class SpeakerGuard(Normalizer):
    """Cuts before another speaker's line, so that none of it is seen."""

    def __init__(self, config: TextConfig) -> None:
        persona = config.persona
        self._own = frozenset(map(_key, persona.names)) if persona else frozenset[str]()
        self._any_speaker = config.llm_stop_speaker_pattern_enabled
        self._foreign = frozenset(map(_key, foreign_names(config))) - self._own
        self._participants = frozenset(map(_key, participant_names(config))) - self._own
        initials = {name[0] for name in self._foreign | self._participants}
        self._initials = frozenset(initials)
        self._begins = frozenset(initials | {letter.upper() for letter in initials} | {"_"})

    def apply(self, work: SegmentWork) -> None:
        is_first_line = work.opens_response
        for i, piece in enumerate(work.pieces):
            if has_colon(piece.text):
                found = self._find(piece, is_first_line)
                if found is not None:
                    self._cut(work, i, *found)
                    return
            is_first_line = is_first_line and not piece.text.strip()

    def _find(self, piece: TextPiece, is_first_line: bool) -> tuple[int, str] | None:
        """Return where another speaker's line begins, and the label."""
        at = 0
        is_whole = piece.line_start
        for line in piece.text.split("\n"):
            if is_whole and not is_first_line and has_colon(line):
                label = self._foreign_label(line)
                if label is not None:
                    return at, label
            is_first_line = is_first_line and not line.strip()
            is_whole = True
            at += len(line) + 1
        return None

    def _foreign_label(self, line: str) -> str | None:
        found = _LABEL.match(line) if self._may_have_label(line) else None
        if found is None or block_kind(line) != "text":
            return None
        label = found[1]
        key = _key(label)
        modified = _MODIFIED.fullmatch(label)
        source = _key(modified[1]) if modified else key
        if key in self._own or source in self._own:
            return None
        if key in self._foreign or source in self._foreign:
            return label
        if key in self._participants or source in self._participants:
            return label if _WORDS.match(line, found.end()) else None
        if self._any_speaker and _is_set_off(line, found.end(), label) and _is_speaker_like(label):
            return label
        return None

    def _may_have_label(self, line: str) -> bool:
        """Return whether the line begins with the first letter of a name, which few lines do."""
        begun = line.lstrip(" \t*")
        first = begun[:1]
        if self._any_speaker or first in self._begins:
            return True
        return not first.isascii() and first.casefold()[:1] in self._initials

    @staticmethod
    def _cut(work: SegmentWork, index: int, at: int, label: str) -> None:
        piece = work.pieces[index]
        rest = [piece.text[at:], *(later.text for later in work.pieces[index + 1 :])]
        work.withheld.append(("\n".join(rest), "speaker_guard"))
        piece.text = piece.text[:at].rstrip()
        del work.pieces[index + 1 :]
        work.stop = label


def speaker_guard(config: TextConfig) -> SpeakerGuard | None:
    """Make the rule, if one of its switches is on."""
    if config.participant_guard_enabled or guards_all_names(config):
        return SpeakerGuard(config)
    return None


def guards_all_names(config: TextConfig) -> bool:
    """Return whether every label with a known name is foreign, whatever follows it."""
    return config.llm_stop_speaker_pattern_enabled or config.registered_speaker_guard_enabled


def foreign_names(config: TextConfig) -> list[str]:
    """Return the names whose label ends the answer, whatever follows it."""
    if not guards_all_names(config):
        return [*NOBODY] if config.participant_guard_enabled else []
    known = (name for one in config.known for name in one.names)
    return [*RESERVED, *(name for name in known if name.strip())]


def participant_names(config: TextConfig) -> list[str]:
    """Return the names whose label ends the answer if words follow it.

    Names that are also words of prose (`Note`, `Python`) and single letters are left out.
    """
    if guards_all_names(config) or not config.participant_guard_enabled:
        return []
    names = (name.strip() for one in config.known if one.takes_part for name in one.names)
    return [name for name in names if len(name) >= _SHORTEST_NAME and not is_prose_label(name)]


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _is_speaker_like(label: str) -> bool:
    if not _SPEAKER_LIKE.fullmatch(label) or len(label.split()) > _MAX_WORDS:
        return False
    return not is_prose_label(label)


def _is_set_off(line: str, at: int, label: str) -> bool:
    r"""Return whether a label ends here: not `10:30`, `C:\x` or `key:value`; but `Bob:hi` does."""
    after = line[at : at + 1]
    if not after or after.isspace() or after in _SETS_OFF or line[at - 1] == "：":
        return True
    return not after.isdigit() and after not in "\\/" and not label[0].islower()
