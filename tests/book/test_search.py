"""The book's search: what readers ask leads to the page that answers it, in the dialog and on a page."""

import gzip
import hashlib
import json
import re

import pytest
from attnlab_book import share, synonyms

from .conftest import ROOT, chapters, page_of
from .reader import violations

FIRST, AMONG = 1, 3
NUMBER = str(chapters.find(chapters.read(ROOT), "queries_keys_values").number)
ASKED = {
    # As the book says it.
    "why divide by sqrt d": (FIRST, "scaling"),
    "√d": (FIRST, "scaling"),
    "causal mask": (AMONG, "masking"),
    "softmax": (AMONG, "softmax_saturation relevance_and_averaging"),
    "why is attention quadratic": (FIRST, "what_it_costs"),
    "attention sink": (AMONG, "todays_models real_model sparse_attention"),
    "KV cache": (AMONG, "decoding"),
    "rotary embedding RoPE": (AMONG, "positional_encoding"),
    "Bahdanau": (FIRST, "chapters/references"),
    "how do I sample with top-p": (FIRST, "decoding"),
    "linear attention": (FIRST, "linear_attention"),
    "induction heads": (AMONG, "real_model"),
    "what does a head look at": (AMONG, "real_model"),
    "ring attention": (FIRST, "many_devices"),
    # Hyphens and camel case, one word or two.
    "flash attention": (AMONG, "what_it_costs"),
    "flash-attention": (AMONG, "what_it_costs"),
    "flashattention": (AMONG, "what_it_costs"),
    # A field of a configuration: where fields are read.
    **{
        field: (FIRST, "chapters/configuration")
        for field in ("num_key_value_heads", "num_attention_heads", "num_hidden_layers", "hidden_size")
    },
    "multihead attention": (FIRST, "multi_head"),
    "cross attention": (FIRST, "multi_head"),
    "kvcache": (AMONG, "decoding"),
    "LayerNorm": (AMONG, "transformer"),
    # Short names, and other names.
    "GQA": (AMONG, "multi_head"),
    "nucleus sampling": (FIRST, "decoding"),
    "sliding window": (FIRST, "chapters/glossary"),
    "inference": (FIRST, "decoding"),
    "seq2seq": (AMONG, "before_transformers"),
    "multi-GPU": (FIRST, "many_devices"),
    "skip connection": (FIRST, "transformer"),
    "interpretability": (AMONG, "real_model"),
    "normalization": (FIRST, "transformer"),
    "permutation equivariant": (AMONG, "positional_encoding"),
    # A whole question: its small words weigh nothing.
    "how much memory does a 7b model need": (FIRST, "what_it_costs chapters/configuration"),
    "How much memory do I need for a 70B model?": (FIRST, "what_it_costs chapters/configuration"),
    "how much does attention cost": (FIRST, "what_it_costs"),
    "how many heads should I use": (FIRST, "multi_head"),
    "do I need positional encoding": (FIRST, "positional_encoding"),
    "how much faster is flash attention": (FIRST, "what_it_costs"),
    # A letter wrong, missing, added, or two in the wrong order; a word not yet finished.
    "softmx": (AMONG, "softmax_saturation relevance_and_averaging"),
    "rotery positions": (AMONG, "positional_encoding"),
    "jacobbian": (AMONG, "softmax_saturation"),
    "qurey": (AMONG, "queries_keys_values"),
    "satur": (AMONG, "softmax_saturation"),
    # Students' words.
    "QKV": (FIRST, "queries_keys_values"),
    "QK^T": (FIRST, "queries_keys_values"),
    "QKT": (FIRST, "queries_keys_values"),
    "Q K^T": (FIRST, "queries_keys_values"),
    "QK": (FIRST, "queries_keys_values"),
    "formula": (FIRST, "queries_keys_values"),
    **dict.fromkeys(
        ("scaled_dot_product_attention", "scaled dot product attention"), (FIRST, "queries_keys_values")
    ),
    "attention weights": (FIRST, "chapters/glossary"),
    "attention formula": (FIRST, "queries_keys_values"),
    "nan in softmax": (FIRST, "masking"),
    **dict.fromkeys(("why do we need V", "rotary"), (FIRST, "chapters/glossary")),
    # What has a number.
    **{
        question.replace("N", NUMBER): (FIRST, "queries_keys_values")
        for question in (
            "exercise N.2",
            "ex. N.2",
            "equation N.1",
            "eq (N.2)",
            "chapter N",
            "how long does chapter N take",
        )
    },
    **dict.fromkeys(("MLA", "MHA", "FFN", "attention mask"), (FIRST, "chapters/glossary")),
    "why do we scale attention": (FIRST, "scaling"),
    "why softmax and not just divide by the sum": (FIRST, "relevance_and_averaging"),
    "how much memory does long context need": (FIRST, "what_it_costs"),
    "lstm problem long sentences": (FIRST, "before_transformers"),
    "tril": (FIRST, "masking"),
    "torch.tril": (FIRST, "masking"),
    "d_model": (FIRST, "chapters/notation"),
    "do i need a gpu": (FIRST, "chapters/index"),
    "mask true false pytorch": (AMONG, "chapters/notation"),
    "why not just use an RNN": (FIRST, "before_transformers"),
    "pip install": (FIRST, "chapters/index"),
    # Errands.
    **dict.fromkeys(("solutions to exercises", "exercise answers", "quiz"), (FIRST, "chapters/index")),
    **dict.fromkeys(("how do I install attnlab", "run locally", "download"), (FIRST, "chapters/index")),
    "open in colab": (FIRST, "chapters/teachers"),
    # Code, as it is written on the page or elsewhere.
    "transpose(-2, -1)": (FIRST, "queries_keys_values"),
    "k.transpose": (FIRST, "queries_keys_values"),
    "is_causal=True": (FIRST, "masking"),
    "scaled_dot_product_attention is_causal": (FIRST, "masking"),
    "F.scaled_dot_product_attention(q, k, v, is_causal=True)": (FIRST, "masking"),
    "masked_fill(mask, float('-inf'))": (FIRST, "masking"),
    "softmax(QK^T/sqrt(d_k))V": (FIRST, "queries_keys_values"),
    "np.exp(x - x.max())": (FIRST, "softmax_saturation"),
    "class MultiHeadAttention(nn.Module)": (FIRST, "multi_head"),
    # Messages of errors.
    "ModuleNotFoundError: No module named 'attnlab'": (FIRST, "chapters/index"),
    # Of the book.
    **dict.fromkeys(("who wrote this book", "how long does it take"), (FIRST, "chapters/index")),
    "cheat sheet": (FIRST, "chapters/notation"),
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 16x8)": (FIRST, "chapters/notation"),
    "CUDA out of memory": (FIRST, "what_it_costs"),
    "RuntimeError: expected scalar type Float but found Half": (FIRST, "masking"),
    # Who does it is no part of the question.
    "why do transformers need position": (FIRST, "positional_encoding"),
    "why do models need a mask": (FIRST, "masking"),
    "why do we need more than one head": (FIRST, "multi_head"),
    "what do query key and value mean": (FIRST, "queries_keys_values"),
    "why do transformers scale the scores": (FIRST, "scaling"),
    "is the book free": (FIRST, "chapters/licences"),
    "how do I hide the future": (FIRST, "masking"),
    "what stops a model from cheating": (FIRST, "masking"),
    "look ahead": (FIRST, "masking"),
    "peek": (FIRST, "masking"),
    "why not just average": (FIRST, "relevance_and_averaging"),
    "q k v": (FIRST, "queries_keys_values"),
    "Q, K, V": (FIRST, "queries_keys_values"),
    "word order": (FIRST, "positional_encoding"),
    "how do transformers know word order": (FIRST, "positional_encoding"),
    "train a model": (FIRST, "chapters/playground"),
    "how to train": (FIRST, "chapters/playground"),
    "how do I train a model": (FIRST, "chapters/playground"),
    "gpt": (FIRST, "chapters/glossary"),
    "llm": (FIRST, "real_model"),
    "context window": (FIRST, "chapters/glossary"),
    "context length": (FIRST, "chapters/glossary"),
    "how are the weights learned": (FIRST, "chapters/playground"),
    "how is attention trained": (FIRST, "chapters/playground"),
    "long documents": (FIRST, "positional_encoding"),
    "why multiple heads": (FIRST, "multi_head"),
    "transformer": (FIRST, "transformer"),
    "what is a transformer": (FIRST, "transformer"),
    "encoder vs decoder": (FIRST, "before_transformers"),
    "encoder decoder": (FIRST, "before_transformers"),
    "llama": (AMONG, "decoding"),
    "deepseek": (FIRST, "todays_models"),
    "bert": (FIRST, "real_model"),
    "mamba": (FIRST, "linear_attention"),
    "Longformer": (FIRST, "sparse_attention"),
    "masked softmax": (FIRST, "masking"),
    "is attention explanation": (FIRST, "real_model"),
    # Whole questions of students.
    "why does gpt only look left": (FIRST, "masking"),
    "why can't the model see the future": (FIRST, "masking"),
    "what happens when everything is masked": (FIRST, "masking"),
    "my loss is nan": (AMONG, "masking"),
    "bert vs gpt": (FIRST, "real_model"),
    "how does the model know which word comes first": (FIRST, "positional_encoding"),
    "why several heads instead of one big one": (FIRST, "multi_head"),
    "how does chatgpt pick the next word": (FIRST, "decoding"),
    "why is chatgpt slow on long texts": (FIRST, "what_it_costs decoding sparse_attention"),
    "can I trust attention weights": (FIRST, "real_model"),
    "gradient too small": (FIRST, "softmax_saturation"),
    "what came before transformers": (FIRST, "before_transformers"),
    "split a model over several gpus": (FIRST, "many_devices"),
    "only look at nearby words": (FIRST, "sparse_attention"),
    "do I need the residual connection": (FIRST, "transformer"),
    "why not just average all words": (FIRST, "why_attention relevance_and_averaging"),
    "first token gets all the attention": (FIRST, "real_model"),
    "what is the point of the value matrix": (AMONG, "queries_keys_values"),
    "why use sine and cosine": (FIRST, "positional_encoding"),
    "can heads be removed": (FIRST, "multi_head real_model"),
    "does the model cheat by looking ahead": (FIRST, "masking"),
    "generate text word by word": (FIRST, "decoding"),
    "why do we need feed forward layers": (FIRST, "transformer"),
    "same word different meaning": (FIRST, "why_attention"),
    "how does a word know its place": (FIRST, "positional_encoding"),
    "why is order lost": (FIRST, "positional_encoding"),
    "transformer vs rnn": (FIRST, "before_transformers"),
    "does order matter": (FIRST, "positional_encoding"),
    "positional encoding": (FIRST, "positional_encoding"),
    # Who did it first.
    **{
        question: (FIRST, "before_transformers")
        for question in ("who invented attention", "history of attention", "first paper on attention")
    },
    "where does attention come from": (FIRST, "before_transformers"),
    "when was attention invented": (FIRST, "before_transformers"),
    "who invented the transformer": (FIRST, "transformer chapters/references"),
    "nan loss": (FIRST, "masking"),
    "long context": (FIRST, "positional_encoding"),
    "long text": (FIRST, "positional_encoding"),
    "rnn vs transformer": (AMONG, "transformer"),
    "can I use this in my class": (FIRST, "chapters/teachers"),
    "attnbook.drawings.history": (FIRST, "chapters/api/experiments"),
    # A letter leads to what it stands for.
    **{letter: (FIRST, "queries_keys_values") for letter in ("W_q", "W_k", "W_v")},
    "Θ": (FIRST, "chapters/notation"),
    "theta": (FIRST, "chapters/notation"),
    "α": (FIRST, "chapters/notation"),
    "alpha": (FIRST, "chapters/notation"),
}
"""Questions, and the chapters, by topic (another page by its address), of which one is the first place, or
among the first three."""
PLACED = {
    # A bare term, and what something is: the definition, or the section that introduces it.
    "KV cache": (FIRST, "glossary#term-KV-cache"),
    "flash attention": (FIRST, "glossary#term-FlashAttention"),
    "FlashAttention": (FIRST, "glossary#term-FlashAttention"),
    "flashattention": (FIRST, "glossary#term-FlashAttention"),
    "kvcache": (FIRST, "glossary#term-KV-cache"),
    "why does gpt not see the future": (FIRST, "masking#before-the-softmax-not-after"),
    "layer norm": (FIRST, "glossary#term-layer-norm"),
    "LayerNorm": (FIRST, "glossary#term-layer-norm"),
    "bert vs gpt": (FIRST, "real_model#what-do-we-run"),
    "temperature": (FIRST, "glossary#term-temperature"),
    "vanishing gradient": (FIRST, "glossary#term-saturation"),
    "what is a token": (FIRST, "glossary#term-token"),
    "what is a head": (FIRST, "glossary#term-head"),
    "softmx": (FIRST, "glossary#term-softmax"),
    "gqa": (FIRST, "glossary#term-grouped-query-attention-GQA"),
    # Several words: where all of them stand.
    "softmax temperature": (FIRST, "softmax_saturation#the-figure-set-the-width-drag-the-scores"),
    "padding mask": (FIRST, "masking#who-may-see-whom"),
    "attention entropy": (AMONG, "softmax_saturation#after-training"),
    "kv cache size": (FIRST, "multi_head#fewer-keys-and-values"),
    "pre norm vs post norm": (FIRST, "glossary#term-pre-norm"),
    "mask leak": (FIRST, "masking#finding-a-leak"),
    "rope theta": (FIRST, "positional_encoding#what-models-do-today"),
    "sinusoidal positional encoding": (FIRST, "positional_encoding#added-sinusoids"),
    "half precision mask": (FIRST, "masking#numbers-that-are-almost-and-half-precision"),
    # As readers write it.
    **{
        root: (FIRST, "scaling#by-hand-coins")
        for root in ("√d", "√d_k", "sqrt(d_k)", "why divide by sqrt(d)", "why divide by root dk")
    },
    "d_k": (FIRST, "queries_keys_values#in-loops-then-in-matrices"),
    "chatgpt": (FIRST, "chapters/five_minutes"),
    "gpt": (FIRST, "glossary#term-language-model"),
    # Asked alone: a letter, a name that the book has for something else.
    "Q": (FIRST, "glossary#term-query"),
    "K": (FIRST, "glossary#term-key"),
    "V": (FIRST, "glossary#term-value"),
    "top k": (FIRST, "glossary#term-top-k"),
    "tokenizer": (FIRST, "glossary#term-subword-BPE"),
    "tokenization": (FIRST, "glossary#term-subword-BPE"),
    "context window": (FIRST, "glossary#term-extrapolation"),
    "context length": (FIRST, "glossary#term-extrapolation"),
    "how are the weights learned": (FIRST, "chapters/playground#train-it"),
    "multi head": (FIRST, "glossary#term-multi-head-attention"),
    "softmax formula": (FIRST, "glossary#term-softmax"),
    "formula of softmax": (FIRST, "glossary#term-softmax"),
    "self attention vs cross attention": (FIRST, "glossary#term-self-attention"),
    "how does ChatGPT work": (FIRST, "chapters/five_minutes"),
    "backprop": (FIRST, "softmax_saturation#what-passes-back"),
    "backpropagation": (FIRST, "softmax_saturation#what-passes-back"),
    "nan": (FIRST, "masking#the-row-with-nothing-to-see"),
    "colab": (FIRST, "chapters/teachers#running-it"),
    "how does attention work": (FIRST, "glossary#term-attention"),
    "self attention": (FIRST, "glossary#term-self-attention"),
    "residual connection": (FIRST, "transformer#the-stream"),
    "work on each token": (FIRST, "transformer#work-on-each-token"),
    "who may see whom": (FIRST, "masking#who-may-see-whom"),
    "flash attn": (FIRST, "what_it_costs#the-softmax-that-never-sees-its-row"),
    "O(n^2)": (FIRST, "what_it_costs#what-all-pairs-buy"),
    "speculative decoding": (AMONG, "decoding#draft-and-verify"),
    "transformer block": (FIRST, "transformer"),
    "what is attention": (FIRST, "glossary#term-attention"),
    "attention": (FIRST, "glossary#term-attention"),
    "why three matrices": (FIRST, "queries_keys_values#three-views-of-a-token"),
    "beam search": (FIRST, "glossary#term-beam-search"),
    "word order": (FIRST, "positional_encoding#a-set-has-no-order"),
    "difference between key and value": (FIRST, "glossary#term-key"),
}
"""Questions, and the place that is the first, or among the first three rows."""
PLACES = """(where) => [...document.querySelectorAll(`${where} .attn-places li`)].map((item) => ({
  page: item.querySelector("a").getAttribute("href").split("#")[0].replace(/^\\.+\\//, ""),
  marked: [...item.querySelectorAll("mark")].map((mark) => mark.textContent), text: item.innerText }))"""
PAGE, DIALOG = "#attn-search", "#pst-search-dialog"
INSIDE = """(dialog) => [...dialog.querySelectorAll(":not(.visually-hidden)")].every((part) => {
  const { left, right } = part.getBoundingClientRect();
  return left >= 0 && right <= innerWidth && part.scrollWidth <= Math.max(part.clientWidth, right - left) + 1;
})"""
ANSWERED = """(field) => new Promise((done) => {
  const found = field.closest("dialog, #attn-search").querySelector(".attn-found");
  const look = () => (found.dataset.of === field.value.trim() ? done() : setTimeout(look, 5));
  look();
})"""
READY = "(where) => document.querySelector(`${where} [role=status]`)?.textContent"


def places(page, where=PAGE):
    return page.evaluate(PLACES, where)


def says(page, where=PAGE):
    return page.locator(f"{where} [role=status]").inner_text()


def ask(field, question):
    """Write a question, and wait until it is answered, which is a little after the last letter."""
    field.fill(question)
    field.evaluate(ANSWERED)


def search_page(site, query="", **options):
    page = site.open("search", query=query, **options)
    page.wait_for_function(READY, arg=PAGE)
    return page


@pytest.fixture
def opened(site):
    """Open the dialog on a chapter's page, by its key."""

    def open_at(theme="light", width=1280, key="/"):
        page = site.open(page_of("masking"), theme=theme, width=width)
        page.keyboard.press(key)
        page.wait_for_function(READY, arg=DIALOG)
        return page, page.locator(f"{DIALOG} input")

    return open_at


def test_what_readers_ask_leads_to_the_chapter_that_answers(opened):
    assert len(ASKED) >= 30
    page, field = opened()
    missed = {}
    for question, (among, topics) in ASKED.items():
        ask(field, question)
        found = places(page, DIALOG)
        wanted = {f"{one if '/' in one else page_of(one)}.html" for one in topics.split()}
        if not wanted & {place["page"] for place in found[:among]}:
            missed[question] = [place["text"][:80] for place in found[:3]]
    assert missed == {}


def test_the_place_itself_comes_first_and_enter_leads_to_it(opened):
    page, field = opened()
    missed = {}
    for question, (among, place) in PLACED.items():
        ask(field, question)
        page_, sharp, anchor = place.partition("#")
        page_ = "chapters/glossary" if page_ == "glossary" else page_
        wanted = f"{page_ if '/' in page_ else page_of(page_)}.html{sharp}{anchor}"
        rows = page.locator(f"{DIALOG} .attn-places a").evaluate_all(
            "rows => rows.map((row) => decodeURIComponent(row.href).split(':~:')[0])"
        )
        if not any(row.endswith(wanted) for row in rows[:among]):
            missed[question] = rows[:3]
    assert missed == {}


def test_a_sentence_is_marked_to_the_last_of_its_parts_that_ends_in_words(opened):
    page, field = opened()
    ask(field, "why divide by sqrt d")
    row = page.locator(f"{DIALOG} [aria-selected=true]")
    assert row.evaluate("(row) => row.href.split('text=')[1].split(',').map(decodeURIComponent)") == [
        "So a typical score, its standard deviation, has",
        "the coins cancel",
    ]


@pytest.mark.parametrize("width", [1280, 390])
def test_enter_leads_to_the_sentence_that_was_found(opened, width):
    for question, topic in {
        "padding mask": "masking",
        "kv cache size": "multi_head",
    }.items():  # here, and elsewhere
        page, field = opened(width=width)
        ask(field, question)
        found = page.locator(f"{DIALOG} [aria-selected=true]").evaluate(
            "(row) => row.href.split('text=')[1].split(',').map(decodeURIComponent)"
        )
        field.press("Enter")
        page.wait_for_url(f"**/{page_of(topic)}.html#*")
        page.wait_for_function(
            """(found) => [...document.querySelectorAll("article p")].some((one) => {
              const { top, bottom } = one.getBoundingClientRect();
              const said = one.textContent.replace(/\\s+/g, " ");
              return found.every((part) => said.includes(part)) && top > 56 && bottom < innerHeight;
            })""",
            arg=found,
        )


def test_a_term_is_explained_and_a_slip_is_told(opened):
    page, field = opened()
    meaning = page.locator(f"{DIALOG} .attn-meaning")
    for question, term in {
        "what is GQA": "grouped-query attention (GQA)",
        "nucleus sampling": "top-p",
        "flash attention": "FlashAttention",
    }.items():
        ask(field, question)
        assert meaning.locator(".attn-what").inner_text() == term
        assert "glossary.html#term-" in meaning.locator("a").get_attribute("href")
    ask(field, "atention mask")
    assert says(page, DIALOG).startswith("Read as “attention”.")
    assert page.locator(f"{DIALOG} [role=status]").bounding_box()["height"] > 10
    assert meaning.locator(".attn-what").inner_text() == "mask"
    # So is a name that the book never says.
    for question, read in {"ChatGPT": "language model", "backprop": "gradient"}.items():
        ask(field, question)
        assert says(page, DIALOG).startswith(f"Read as “{read}”.")
    # Of a name with a digit only the digit may be too much.
    ask(field, "gpt4")
    assert says(page, DIALOG).startswith("Read as “gpt”.")
    # A short name in capitals is no slip.
    ask(field, "BLEU score")
    assert "Read as" not in says(page, DIALOG)
    ask(field, "mat1 shapes")
    assert "Read as" not in says(page, DIALOG)
    assert "“mat1”" in says(page, DIALOG)


def test_a_name_that_code_alone_says_leads_to_its_line(opened):
    page, field = opened()
    for question, name in {
        "torch.triu": ".triu(",
        "multinomial": ".multinomial(",
        "manual_seed": "torch.manual_seed(",
    }.items():
        ask(field, question)
        line = page.locator(f"{DIALOG} .attn-places code").first
        assert name in line.inner_text()
        assert ":~:text=" in line.locator("xpath=..").get_attribute("href")
        assert "nowhere" not in says(page, DIALOG)
    ask(field, "torch.bmmm(a, b)")
    assert places(page, DIALOG) == []
    ask(field, "licence")
    found = [place["page"] for place in places(page, DIALOG)]
    assert found.count("chapters/licences.html") <= 3


@pytest.mark.parametrize("width", [1280, 390])
def test_enter_leads_to_the_line_of_code_that_was_typed(opened, width):
    page, field = opened(width=width)
    ask(field, "q @ k.transpose(-2, -1)")
    line = page.locator(f"{DIALOG} [aria-selected=true] code")
    assert line.locator("mark").all_inner_texts() == ["q @ k.transpose(-2, -1)"]
    shown = line.inner_text()
    field.press("Enter")
    page.wait_for_url(f"**/{page_of('queries_keys_values')}.html#*")
    page.wait_for_function(
        """(shown) => [...document.querySelectorAll("article pre")].some((one) => {
          const at = one.textContent.indexOf(shown);
          if (at < 0) return false;
          const lines = one.textContent.slice(0, at).split("\\n").length;
          const { top, height } = one.getBoundingClientRect();
          const y = top + (height * (lines - 0.5)) / one.textContent.trimEnd().split("\\n").length;
          return y > 56 && y < innerHeight;
        })""",
        arg=shown,
    )


def test_a_message_that_stands_nowhere_says_so(opened):
    page, field = opened()
    ask(field, "AttributeError: 'NoneType' object has no attribute 'foo'")
    assert says(page, DIALOG).startswith("This message stands nowhere in the book.")
    assert page.locator(f"{DIALOG} [role=status]").bounding_box()["height"] > 8
    assert places(page, DIALOG)[0]["page"] == "chapters/notation.html"
    ask(field, "CUDA out of memory")
    assert "nowhere" not in says(page, DIALOG)


def test_code_is_loaded_when_somebody_asks_for_code_and_is_light(opened, book):
    page, field = opened()
    loaded = "() => performance.getEntriesByType('resource').map(({ name }) => name)"
    code = lambda: [one for one in page.evaluate(loaded) if "search-code" in one]  # noqa: E731
    for question in ("what is attention", "why divide by sqrt d", "sofmax"):
        ask(field, question)
    assert code() == []
    ask(field, "masked_fill")
    (address,) = code()
    ask(field, "torch.tril")
    assert code() == [address]
    name, version = re.search(r"_static/(search-code\.js)\?v=(\w{8})$", address).groups()
    held = (book / "_static" / name).read_bytes()
    assert hashlib.sha256(held).hexdigest().startswith(version)
    assert len(gzip.compress(held)) < 90_000
    lines = json.loads(held.decode().removeprefix("globalThis.attnlabCode=").removesuffix(";\n"))["lines"]
    every = "\n".join(text for _, text, *_ in lines)
    assert "s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])" in every
    # Solutions would be given away, and set-up is nobody's question.
    assert "angle = 2 * math.pi * torch.arange(n) / n" not in every
    assert "find_spec" not in every


def test_of_two_terms_asked_apart_both_are_explained_and_what_attention_is_in_five_minutes(opened):
    page, field = opened()
    for question in (
        "difference between self attention and cross attention",
        "self attention vs cross attention",
        "self-attention or cross-attention?",
        "self attention compared to cross attention",
    ):
        ask(field, question)
        entries = page.locator(f"{DIALOG} .attn-places li:has(.attn-about)").locator(".attn-what")
        assert entries.all_inner_texts()[:2] == ["self-attention", "cross-attention"]
        assert says(page, DIALOG).endswith(", and the glossary’s entries.")
    # Pages that list what chapters teach are no answer where chapters are.
    ask(field, "positional encoding")
    assert "chapters/teachers.html" not in [place["page"] for place in places(page, DIALOG)]
    for question in ("what is attention", "attention"):
        ask(field, question)
        assert [place["page"] for place in places(page, DIALOG)[:2]] == [
            "chapters/glossary.html",
            "chapters/five_minutes.html",
        ]


def test_marked_is_what_was_asked_and_an_excerpt_says_most_of_it_or_begins_its_section(opened):
    page, field = opened()
    for question, allowed in {
        "temperature": {"temperature", "temperatures"},
        "encoder decoder": {
            "encoder",
            "encoders",
            "decoder",
            "decoders",
            "encoder-decoder",
            "encoder-decoders",
        },
    }.items():
        ask(field, question)
        marked = {word.lower() for place in places(page, DIALOG) for word in place["marked"]}
        assert marked
        assert marked <= allowed
    ask(field, "kv cache")
    costs = page.locator(f"{DIALOG} li", has_text="What need not be computed again").first
    assert costs.locator(".attn-about").inner_text() == "Under the causal mask no row sees a later word."


def test_where_nothing_is_found_terms_that_look_alike_are_offered(opened):
    page, field = opened()
    ask(field, "perplexxityy")
    assert says(page, DIALOG).startswith("Nothing in the book fits “perplexxityy”. Terms")
    found = places(page, DIALOG)
    assert {place["page"] for place in found} == {"chapters/glossary.html"}
    assert "perplexity" in found[0]["text"]
    field.press("Enter")
    page.wait_for_url("**/chapters/glossary.html#term-perplexity*")


def test_a_term_typed_bare_has_its_entry_first_but_where_a_section_is_called_so(opened, book):
    page, field = opened()
    (parts,) = [parts for *_, kind, parts in sections(book)["pages"] if kind == "glossary"]
    later = set()
    for _, term, *_ in parts[1:]:
        ask(field, term.partition(" (")[0])
        first = page.locator(f"{DIALOG} .attn-places li").first
        if "attn-meaning" not in (first.get_attribute("class") or ""):
            later.add(term)
        else:
            assert first.locator(".attn-what").inner_text() == term
    # Titles.
    assert later == {"cross-attention", "linear attention", "multi-head attention", "positional encoding"}
    ask(field, "temperature")
    assert [place["page"] for place in places(page, DIALOG)[:2]] == [
        "chapters/glossary.html",
        f"{page_of('decoding')}.html",
    ]
    ask(field, "kv cache")
    assert [place["page"] for place in places(page, DIALOG)[1:3]] == [
        f"{page_of(topic)}.html" for topic in ("decoding", "what_it_costs")
    ]
    # Where all words stand somewhere, the commonest alone finds nothing.
    for question in ("flash attention", "mixture of experts"):
        ask(field, question)
        assert f"{page_of('why_attention')}.html" not in [place["page"] for place in places(page, DIALOG)]
    ask(field, "softmax temperature")
    assert page.locator(f"{DIALOG} li").nth(1).locator(".attn-what").inner_text() == "temperature"


def test_the_title_of_a_source_leads_to_its_entry_and_to_what_tells_of_it(opened):
    page, field = opened()
    for title, (whose, topic) in {
        "attention is all you need": ("Vaswani et al., 2017.", "transformer"),
        "Attention is all you": ("Vaswani et al., 2017.", None),  # not yet finished
        "Neural machine translation by jointly learning to align and translate": (
            "Bahdanau et al., 2015.",
            "before_transformers",
        ),
        "Efficient streaming language models with attention sinks": ("Xiao et al., 2024.", "real_model"),
    }.items():
        ask(field, title)
        entry, told, *_ = places(page, DIALOG)
        assert entry["page"] == "chapters/references.html"
        assert title.lower() in entry["text"].lower()
        assert whose in entry["text"]
        assert topic is None or told["page"] == f"{page_of(topic)}.html", title
    # So does an author's name, to all that is listed, the oldest first.
    for name, (title, whose, topic) in {
        "vaswani": ("Attention Is All You Need", "Vaswani et al., 2017.", "transformer"),
        "Vaswani et al. (2017)": ("Attention Is All You Need", "Vaswani et al., 2017.", None),
        "bahdanau": ("Neural Machine Translation", "Bahdanau et al., 2015.", "before_transformers"),
        "press": ("Train Short, Test Long", "Press et al., 2022.", "positional_encoding"),
        "dao": ("FlashAttention: Fast", "Dao et al., 2022.", None),
    }.items():
        ask(field, name)
        entry, told, *_ = places(page, DIALOG)
        assert entry["page"] == "chapters/references.html"
        assert title in entry["text"], name
        assert whose in entry["text"], name
        assert topic is None or told["page"] == f"{page_of(topic)}.html", name
    assert "FlashAttention-2" in told["text"]
    ask(field, "attention is all you need")
    page.keyboard.press("Enter")
    page.wait_for_url("**/chapters/references.html#*")
    entry = page.locator(f'[id="{page.url.partition("#")[2].split(":~:")[0]}"]')
    assert "Attention is all you need" in entry.inner_text()


def test_no_page_about_the_book_or_its_code_stands_before_what_teaches(opened):
    page, field = opened()
    for question in ("long context", "who invented attention", "history of attention"):
        ask(field, question)
        first = [place["page"] for place in places(page, DIALOG)[:3]]
        assert len(first) == 3
        assert not [
            one for one in first if "/api" in one or one.endswith(("how_we_test.html", "teachers.html"))
        ]


def test_both_of_what_is_asked_apart_are_there_and_a_word_that_is_nowhere_is_told(opened):
    page, field = opened()
    ask(field, "transformer vs rnn")
    two = [f"{page_of(topic)}.html" for topic in ("before_transformers", "transformer")]
    assert [place["page"] for place in places(page, DIALOG)[:2]] == two
    ask(field, "gpt")
    entry, place, *_ = places(page, DIALOG)
    assert "GPT is one" in entry["text"]
    assert "GPT" in place["marked"]
    # Each entry says what it is first for.
    for question in ("context window", "context length"):
        ask(field, question)
        assert question in places(page, DIALOG)[0]["text"]
    ask(field, "ChatGPT")
    led = [place["page"] for place in places(page, DIALOG) if place["page"] != "chapters/glossary.html"]
    assert led[:2] == ["chapters/five_minutes.html", f"{page_of('transformer')}.html"]
    ask(field, "difference between flash attention and a zebra")
    assert "(nowhere in the book: “zebra”)" in says(page, DIALOG)
    assert page.locator(f"{DIALOG} .attn-meaning .attn-what").inner_text() == "FlashAttention"


def test_a_root_is_marked_with_what_stands_under_it(opened):
    page, field = opened()
    for question in ("√d", "why divide by sqrt d", "root dk"):
        ask(field, question)
        marked = {word for place in places(page, DIALOG) for word in place["marked"]}
        assert "√d" in marked
        assert not {"d", "k", "√"} & marked


def test_what_is_like_nothing_is_told_so_and_the_glossary_is_linked(opened):
    page, field = opened()
    for question in ("zzqx", "pizza", "asdfgh"):
        ask(field, question)
        assert says(page, DIALOG) == f"Nothing in the book fits “{question}”."
        assert places(page, DIALOG) == []
        tries = page.locator(f"{DIALOG} .attn-more a").all_inner_texts()
        assert tries[0] == "All terms of the glossary"
        assert len(tries) == 4
    ask(field, "what does ")  # nothing is asked yet
    assert not says(page, DIALOG).startswith("Nothing")
    ask(field, "zzqx")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/chapters/glossary.html")


def test_the_first_row_is_the_lit_one_and_a_bare_term_is_defined_first(opened):
    page, field = opened()
    ground = "rows => rows.map((row) => getComputedStyle(row).backgroundColor)"
    for question in ("flash attention", "GQA", "causal mask", "softmax"):
        ask(field, question)
        rows = page.locator(f"{DIALOG} .attn-found a:visible")
        first, *others = rows.evaluate_all(ground)
        assert first not in others, question
        assert rows.first.evaluate("(row) => Boolean(row.closest('.attn-meaning'))"), question


def test_other_names_lead_somewhere(opened):
    assert len(synonyms.ASKED) >= 20
    page, field = opened()
    for name in synonyms.ASKED:
        ask(field, name)
        assert not says(page, DIALOG).startswith("Nothing"), name


LIT = """(field) => {
  const row = document.getElementById(field.getAttribute("aria-activedescendant"));
  const lit = document.activeElement === field && row?.getAttribute("aria-selected") === "true";
  return lit && row.closest("li").innerText;
}"""
"""The row that the field names as chosen, while the focus stays in the field."""


def test_keys_lead_through_what_is_found_and_back(opened):
    page, field = opened()
    ask(field, "causal mask")
    found = [place["text"] for place in places(page, DIALOG)]
    assert len(found) == 8 + 1  # places, and what the words mean
    # The first is lit while one writes, and Enter leads to it: the keys go on from there.
    for key, lit in {"Shift": 0, "ArrowDown": 1, "PageUp": 1}.items():
        page.keyboard.press(key)
        assert field.evaluate(LIT) == found[lit], key
    page.keyboard.press("ArrowDown")
    assert field.evaluate(LIT) == found[2]
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    assert field.evaluate(LIT) == found[0]
    page.keyboard.press("ArrowDown")
    page.keyboard.type("s")  # whoever writes on writes in the field
    assert field.input_value() == "causal masks"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+a")
    page.keyboard.type("GQA")  # and so does whoever begins anew
    assert field.input_value() == "GQA"
    page.keyboard.press("Enter")  # before the pause is over
    page.wait_for_url("**/chapters/glossary.html#term-grouped-query-attention-GQA*")


def test_enter_opens_the_row_that_the_keys_have_reached(opened):
    page, field = opened()
    ask(field, "causal mask")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    wanted = page.locator(f"{DIALOG} [aria-selected=true]").evaluate("(row) => row.href")
    page.keyboard.press("Enter")
    page.wait_for_url(wanted.split(":~:")[0])


def test_before_one_asks_three_questions_are_offered(opened):
    page, _ = opened()
    tries = page.locator(f"{DIALOG} .attn-more a")
    assert tries.count() == 3
    page.keyboard.press("Enter")  # nothing is lit
    assert page.url.endswith(f"{page_of('masking')}.html")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    page.wait_for_function(READY, arg=PAGE)
    assert len(places(page)) > 3


def test_no_row_is_a_heading_alone_or_a_card(opened):
    page, field = opened()
    for question in ("softmax", "GQA", "minutes exercises", "scaling", "notation"):
        ask(field, question)
        assert page.locator(f"{DIALOG} li:not(:has(.attn-about))").count() == 0, question
        assert not any(" exercises · " in place["text"] for place in places(page, DIALOG)), question
    ask(field, "GQA")
    assert places(page, DIALOG)[-1]["marked"]  # the last is no noise


def test_one_press_of_escape_closes_and_what_was_asked_gives_way(opened):
    page, field = opened()
    dialog = page.locator(DIALOG)
    for opens in ("Control+k", "/"):
        ask(field, "causal mask")
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        page.keyboard.press(opens)
        dialog.wait_for(timeout=30_000)
        page.keyboard.type("GQA")
        assert field.input_value() == "GQA"


def test_as_many_rows_are_counted_as_are_listed(opened):
    page, field = opened()
    for question in ("GQA", "causal mask", "finding a leak", "softmax"):
        ask(field, question)
        rows = len(places(page, DIALOG)) - page.locator(f"{DIALOG} .attn-meaning").count()
        assert int(re.search(r"(\d+) result", says(page, DIALOG))[1]) == rows, question
        # Who sees the rows need not be told: it is for who hears them.
        assert page.locator(f"{DIALOG} [role=status]").bounding_box()["height"] <= 1
        meant = "the glossary’s entry" in says(page, DIALOG)
        assert meant == (page.locator(f"{DIALOG} .attn-meaning").count() == 1), question


def test_an_excerpt_is_whole_sentences_without_years_of_citations(opened):
    page, field = opened()
    for question in ("why is attention quadratic", "flash attention", "kernel regression"):
        ask(field, question)
        for text in page.locator(f"{DIALOG} li:not(.attn-meaning) .attn-about").all_inner_texts():
            # One alone may be too long for a list.
            assert len(text) > 300 or (text[0] != "…" and text[-1] in ".?!:”)"), text
            assert not re.search(r"[A-Z][a-z]+ (?:19|20)\d\d\b", text), text
    ask(field, "flsh atention")
    assert says(page, DIALOG).startswith("Read as “flash” and “attention”.")
    assert not {"fish", "Fish"} & {word for place in places(page, DIALOG) for word in place["marked"]}


def test_the_first_answer_says_why_and_no_excerpt_is_a_riddle(opened):
    page, field = opened()
    ask(field, "why is attention quadratic")
    shown = page.locator(f"{DIALOG} li:not(.attn-meaning) .attn-about").all_inner_texts()
    assert "pairs" in shown[0]
    assert all(len(text.split()) >= 5 for text in shown), shown


def test_what_lacks_a_word_and_shows_none_is_not_listed(opened):
    page, field = opened()
    ask(field, "beam search")
    found = places(page, DIALOG)
    assert len(found) >= 3
    # Sources and the bibliography have "search" alone, where no excerpt shows it.
    # What the words mean stands first.
    assert [place["text"] for place in found[1:] if not place["marked"]] == []


def test_who_has_keys_is_told_of_them(opened):
    for width in (1280, 390):
        page, field = opened(width=width)
        told = page.locator(f"{DIALOG} > .attn-keys")
        assert not told.is_visible()
        ask(field, "softmax")
        assert told.is_visible() == (width > 767)


def test_the_last_row_that_is_seen_fades_and_the_last_of_all_does_not(opened):
    page, field = opened()
    ask(field, "softmax")
    list_, last = page.locator(f"{DIALOG} .attn-found"), page.locator(f"{DIALOG} .attn-more a")
    assert list_.evaluate("(list) => list.scrollHeight > list.clientHeight")
    assert "gradient" in list_.evaluate("(list) => getComputedStyle(list).maskImage")
    list_.evaluate("(list) => list.scrollTo(0, list.scrollHeight)")
    edge, row = list_.bounding_box(), last.bounding_box()
    assert row["y"] + row["height"] <= edge["y"] + edge["height"] - 24


def test_a_place_on_the_same_page_is_not_hidden_by_the_dialog(opened):
    page, field = opened()
    ask(field, "finding a leak")
    page.keyboard.press("Enter")
    assert page.url.endswith(f"{page_of('masking')}.html#finding-a-leak")
    assert not page.locator(DIALOG).is_visible()


def test_the_dialog_opens_by_key_and_button_and_gives_the_focus_back(site):
    page = site.open(page_of("masking"))
    button = page.locator(".search-button__button:visible").first
    dialog, field = page.locator(DIALOG), page.locator(f"{DIALOG} input")
    for opens in (button.click, lambda: page.keyboard.press("/"), lambda: page.keyboard.press("Control+k")):
        button.focus()
        opens()
        assert dialog.is_visible()
        assert field.evaluate("(field) => field === document.activeElement")
        assert field.input_value() == ""  # the key that opened it is no question
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        assert button.evaluate("(button) => button === document.activeElement")
    button.click()
    page.locator(f"{DIALOG} .attn-close").click()
    assert not dialog.is_visible()


def test_more_than_the_dialog_shows_is_on_the_page_of_the_search(opened):
    page, field = opened()
    ask(field, "softmax")
    page.locator(f"{DIALOG} .attn-more a").click()
    page.wait_for_url("**/search.html?q=softmax")
    page.wait_for_function(READY, arg=PAGE)
    assert len(places(page)) > 8


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 320)])
def test_the_dialog_fits_and_axe_finds_nothing(opened, theme, width):
    page, field = opened(theme, width)
    for question in ("", "GQA", "perplexxityy"):
        ask(field, question)
        inside = page.locator(DIALOG).evaluate(INSIDE)
        assert inside, question
        assert violations(page) == []


def test_excerpts_are_prose_with_the_words_marked(site):
    page = search_page(site, "?q=saturated")
    assert page.locator(f"{PAGE} input").input_value() == "saturated"
    found = places(page)
    assert len(found) > 3
    marked = {word.lower() for place in found for word in place["marked"]}
    assert "saturated" in marked
    assert marked <= {"saturated", "saturates", "saturate", "saturating", "saturation"}
    pages = [place["page"] for place in found]
    assert max(map(pages.count, pages)) <= 3 < len(pages)
    assert not any(sign in place["text"] for place in found for sign in ("\\", "$", "{", "Launch", "Colab"))
    ask(page.locator(f"{PAGE} input"), "")
    assert places(page) == []


def test_a_place_that_is_found_is_there(site):
    page = search_page(site, "?q=residual%20stream")
    first = page.locator(f"{PAGE} .attn-places li:not(.attn-meaning) a").first
    wanted = first.locator(".attn-what").inner_text()
    first.click()
    page.wait_for_load_state()
    anchor = page.url.partition("#")[2].split(":~:")[0]
    heading = page.locator(f'[id="{anchor}"] :is(h1, h2, h3)' if anchor else "article h1").first
    assert wanted in heading.inner_text()


def test_it_searches_from_the_disk(site, book):
    page = search_page(site, "?q=finding+a+leak", address=book.as_uri())
    assert places(page)[0]["page"] == f"{page_of('masking')}.html"
    page = site.open(page_of("masking"), address=book.as_uri())
    page.keyboard.press("/")
    page.wait_for_function(READY, arg=DIALOG)
    ask(page.locator(f"{DIALOG} input"), "encoder decoder")
    assert places(page, DIALOG)[0]["page"] == f"{page_of('before_transformers')}.html"


def test_the_sign_hides_no_letter(opened):
    page, field = opened(key="Control+k")
    sign, box = page.locator(f"{DIALOG} form > i").bounding_box(), field.bounding_box()
    inside = field.evaluate("(field) => parseFloat(getComputedStyle(field).paddingLeft)")
    assert sign["x"] + sign["width"] <= box["x"] + inside


def sections(book):
    text = (book / "_static/search-sections.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("globalThis.attnlabSections=").removesuffix(";\n"))


def test_every_chapter_can_be_found_by_section_and_no_code_is_among_the_prose(book):
    pages = {address: (title, kind, parts) for address, title, kind, parts in sections(book)["pages"]}
    for chapter in chapters.read(ROOT):
        title, kind, own = pages[f"{chapter.page}.html"]
        assert title == f"{chapter.label} {chapter.title}"
        assert kind == "chapter"
        assert len(own) > 8
        anchors = [anchor for anchor, *_ in own]
        assert len(set(anchors)) == len(anchors)
        assert "Quiz" not in [heading for _, heading, *_ in own]
        assert not any("?" in text for _, heading, text, *_ in own if heading == "Exercises")
        assert anchors[0] == ""
        prose = " ".join(text for _, _, text, *_ in own)
        assert len(prose) > 4_000
        assert "import torch" not in prose
        assert "Launch" not in prose


def test_what_an_excerpt_is_made_of_can_be_read_alone(book):
    pages = {address: (title, kind, parts) for address, title, kind, parts in sections(book)["pages"]}
    asked = share.questions(ROOT)
    for chapter in chapters.read(ROOT):
        _, _, own = pages[f"{chapter.page}.html"]
        # A chapter's top has its aims alone: they are found, and its question is read.
        assert own[0][2].replace("’", "'") == asked[chapter.topic].replace("’", "'")
        assert "exercises" in own[0][4].split()
        for anchor, _, text, *_ in own:
            # An ellipsis stands for sentences, not inside one.
            assert not re.search(r"[^.?!:;…”)’] …|… [a-z,;]|[_^]\{", text), (chapter.topic, anchor, text)
    taught = [parts for _, kind, parts in pages.values() if kind != "reference"]
    every = [(text, unread) for *_, parts in pages.values() for _, _, text, _, unread in parts]
    assert not any(re.search(r"\^\w", text) for parts in taught for _, _, text, *_ in parts)
    assert not any("nhead num_attention_heads" in text for text, _ in every)  # a row of a table
    assert any({"nhead", "num_attention_heads"} <= set(unread.split()) for _, unread in every)
    costs = {anchor: text for anchor, _, text, *_ in pages[f"{page_of('what_it_costs')}.html"][2]}
    assert "The drawing follows" not in costs["what-all-pairs-buy"]


@pytest.mark.parametrize("spares", [False, True])
def test_it_is_fetched_ahead_when_the_page_stands_but_not_where_data_is_spared_and_nothing_runs(site, spares):
    page = site.browser.new_page()
    page.add_init_script(
        f"Object.defineProperty(navigator, 'connection', {{ value: {{ saveData: {str(spares).lower()} }} }})"
    )
    ahead = "() => [...document.querySelectorAll('link[rel=prefetch]')].map((link) => link.href)"
    page.add_init_script(f"document.addEventListener('attn-whole', () => (globalThis.early = ({ahead})()))")
    page.clock.install()
    page.goto(f"{site.address}/{page_of('masking')}.html")
    page.wait_for_function("'attnWhole' in document.documentElement.dataset")
    page.clock.run_for(5000)
    assert page.evaluate("early") == []  # first come its figures
    fetched = [re.search(r"_static/([\w-]+\.js)\?v=\w{8}$", address)[1] for address in page.evaluate(ahead)]
    runs = page.evaluate("'attnlabSections' in globalThis")
    page.close()
    assert fetched == ([] if spares else ["search-sections.js", "search.js"])
    assert not runs


def test_what_it_loads_is_light_and_loaded_when_it_is_opened(site, book):
    page = site.open(page_of("masking"))
    loaded = "() => performance.getEntriesByType('resource').map(({ name }) => name)"
    assert not any("search" in address for address in page.evaluate(loaded))
    page.keyboard.press("/")
    page.wait_for_function(READY, arg=DIALOG)
    named = [address for address in page.evaluate(loaded) if "search" in address]
    assert len(named) == 2
    weight = 0
    for address in named:
        # Named by its content: no cache gives an older one.
        name, version = re.search(r"_static/(search[\w-]*\.js)\?v=(\w{8})$", address).groups()
        held = (book / "_static" / name).read_bytes()
        assert hashlib.sha256(held).hexdigest().startswith(version)
        weight += len(gzip.compress(held))
    print(f"{weight // 1000} kB")
    assert weight < 150_000
