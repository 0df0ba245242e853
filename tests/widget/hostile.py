"""Two hundred hostile texts and addresses: markup, attribute breaks, script addresses, bidi."""

from itertools import product

MARKUP = (
    "<script>parent.postMessage('owned','*');document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "</style><script>document.title='owned'</script>",
    "<img src=x onerror=document.title='owned'>",
    "<svg onload=document.title='owned'>",
    "<svg><script>document.title='owned'</script></svg>",
    "<iframe srcdoc='<script>parent.document.title=1</script>'></iframe>",
    "<a href=javascript:document.title='owned'>x</a>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>*{background:url(https://evil.example/x)}</style>",
    "<form action=https://evil.example/><input autofocus onfocus=document.title='owned'>",
    "<details open ontoggle=document.title='owned'>",
    "<math><mtext></p><img src=x onerror=document.title='owned'>",
    "<!--<img src=--><img src=x onerror=document.title='owned'>//",
    "<object data=https://evil.example/x></object>",
    "<video><source onerror=document.title='owned'></video>",
    "<template><script>document.title='owned'</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=document.title=1>'>",
)
BREAKS = (
    '"><img src=x onerror=document.title="owned">',
    "'><img src=x onerror=document.title='owned'>",
    '" onmouseover="document.title=1" x="',
    "' autofocus onfocus='document.title=1",
    "{{ 7 * 7 }}{% raw %}{{ config }}",
    "{0.__class__}{name}{tier}%s%d%n",
    "${document.title='owned'}`",
    "*/}body{display:none}/*",
    "}:root{--ink:red}",
    "&lt;script&gt;document.title=1&lt;/script&gt;",
    "&#x3c;img src=x onerror=document.title=1&#x3e;",
    "--></title></head><script>document.title=1</script>",
    "]]><script>document.title=1</script>",
    "\\u003cscript\\u003edocument.title=1\\u003c/script\\u003e",
    "%3Cscript%3Edocument.title=1%3C/script%3E",
)
ADDRESSES = (
    "javascript:document.title='owned'",
    "JaVaScRiPt:document.title='owned'",
    " javascript:document.title='owned'",
    "java\tscript:document.title='owned'",
    "javascript://x%0adocument.title='owned'",
    "data:text/html,<script>document.title='owned'</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "//evil.example/x",
    "blob:https://evil.example/1",
    'https://evil.example/" onclick="document.title=1',
    "https://evil.example/'><script>document.title=1</script>",
)
PREFIXES = ("", "Hôtel ", "\u202e", "日本 ")

TEXTS = (
    *(prefix + text for prefix, text in product(PREFIXES, (*MARKUP, *BREAKS, *ADDRESSES))),
    "x" * 120,
    "\u202e\u2066evil\u2069",
    "W" * 60 + " " + "i" * 59,
)
LINKS = ADDRESSES
