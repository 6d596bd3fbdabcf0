// Checkpoints of the census, as attnbook.widgets.anatomy.script() writes them: do not edit.

/** @type {Record<string, import('./anatomy.js').Model>} */
export const PUBLISHED = {
  gpt2: {"year": 2019, "strip": "FFFFFFFFFFFF", "norms": "pre", "cache": [[12, 3072, 0, 0, 0]], "kept": [12, 12], "places": "learned", "table": 1024, "label": "GPT-2 (124M)"},
  falcon: {"year": 2023, "strip": "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "norms": "pre", "cache": [[32, 256, 0, 0, 0]], "kept": [71, 1], "turned": 32, "label": "Falcon 7B"},
  llama: {"year": 2023, "strip": "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "norms": "pre", "cache": [[32, 16384, 0, 0, 0]], "kept": [32, 32], "turned": 32, "label": "Llama 2 7B"},
  llama3: {"year": 2024, "strip": "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "norms": "pre", "cache": [[32, 4096, 0, 0, 0]], "kept": [32, 8], "turned": 32, "label": "Llama 3 8B"},
  mistral: {"year": 2023, "strip": "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", "norms": "pre", "cache": [[32, 0, 4096, 4096, 0]], "kept": [32, 8], "windows": [4096], "turned": 32, "label": "Mistral 7B v0.1"},
  gemma2: {"year": 2024, "strip": "WFWFWFWFWFWFWFWFWFWFWFWFWF", "norms": "sandwich", "cache": [[13, 0, 4096, 4096, 0], [13, 4096, 0, 0, 0]], "kept": [8, 4], "cap": 50.0, "windows": [4096], "turned": 26, "label": "Gemma 2 2B"},
  gemma3_text: {"year": 2025, "strip": "WWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWW", "norms": "sandwich", "cache": [[52, 0, 8192, 1024, 0], [10, 8192, 0, 0, 0]], "kept": [32, 16], "windows": [1024], "qk": 1, "root": 168, "turned": 62, "label": "Gemma 3 27B"},
  gemma3n_text: {"year": 2025, "strip": "WWWWFWWWWFWWWWFWWWWFWWWWFWWWWFWWWWF", "norms": "sandwich", "cache": [[16, 0, 2048, 512, 0], [4, 2048, 0, 0, 0]], "kept": [8, 2], "shared": 15, "windows": [512], "qk": 1, "streams": "AltUp", "root": 0, "turned": 35, "label": "Gemma 3n E4B"},
  gemma4_text: {"year": 2026, "strip": "WWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWFWWWWWF", "norms": "sandwich", "cache": [[50, 0, 16384, 1024, 0], [10, 8192, 0, 0, 0]], "kept": [32, [4, 16]], "windows": [1024], "qk": 1, "root": 0, "turned": 60, "label": "Gemma 4 31B"},
  llama4_text: {"year": 2025, "strip": "BBBFBBBFBBBFBBBFBBBFBBBFBBBFBBBFBBBFBBBFBBBFBBBF", "norms": "pre", "cache": [[36, 0, 4096, 8192, 0], [12, 4096, 0, 0, 0]], "kept": [40, 8], "windows": [8192], "qk": 1, "turned": 36, "bare": 12, "label": "Llama 4 Scout"},
  cohere2: {"year": 2024, "strip": "WWWFWWWFWWWFWWWFWWWFWWWFWWWFWWWF", "norms": "pre", "cache": [[24, 0, 4096, 4096, 0], [8, 4096, 0, 0, 0]], "kept": [32, 8], "windows": [4096], "turned": 24, "bare": 8, "label": "Command R7B"},
  qwen3: {"year": 2025, "strip": "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "norms": "pre", "cache": [[36, 4096, 0, 0, 0]], "kept": [32, 8], "qk": 1, "turned": 36, "label": "Qwen3 8B"},
  qwen3_next: {"year": 2025, "strip": "LLLFLLLFLLLFLLLFLLLFLLLFLLLFLLLFLLLFLLLFLLLFLLLF", "norms": "pre", "cache": [[36, 0, 0, 0, 1114112], [12, 2048, 0, 0, 0]], "kept": [16, 2], "qk": 1, "gate": "sigmoid", "delta": 1, "turned": 12, "label": "Qwen3-Next 80B-A3B"},
  gpt_oss: {"year": 2025, "strip": "WFWFWFWFWFWFWFWFWFWFWFWFWFWFWFWFWFWF", "norms": "pre", "cache": [[18, 0, 2048, 128, 0], [18, 2048, 0, 0, 0]], "kept": [64, 8], "windows": [128], "sink": 1, "turned": 36, "label": "gpt-oss-120b"},
  olmo3: {"year": 2025, "strip": "WWWFWWWFWWWFWWWFWWWFWWWFWWWFWWWF", "norms": "output", "cache": [[24, 0, 16384, 4096, 0], [8, 16384, 0, 0, 0]], "kept": [32, 32], "windows": [4096], "qk": 1, "turned": 32, "label": "Olmo 3 7B"},
  deepseek_v3: {"year": 2024, "strip": "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "norms": "pre", "cache": [[61, 1152, 0, 0, 0]], "kept": [128, 128], "latent": [512, 64], "turned": 61, "label": "DeepSeek-V3"},
  deepseek_v32: {"year": 2025, "strip": "SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS", "norms": "pre", "cache": [[61, 1408, 0, 0, 0]], "kept": [128, 128], "latent": [512, 64], "chosen": 2048, "index": [128, 61], "turned": 61, "label": "DeepSeek-V3.2-Exp"},
  deepseek_v4: {"year": 2026, "strip": "WWSPSPSPSPSPSPSPSPSPSPSPSPSPSPSPSPSPSPSPSPS", "norms": "pre", "cache": [[2, 0, 1024, 128, 0], [21, 320, 1024, 128, 10240], [20, 8, 1024, 128, 0]], "kept": [64, 1], "windows": [128], "tied": 1, "qk": 1, "sink": 1, "streams": "hyper-connections", "chosen": 512, "index": [128, 21], "turned": 43, "label": "DeepSeek-V4-Flash"},
  glm_moe_dsa: {"year": 2026, "strip": "SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS", "norms": "pre", "cache": [[78, 1408, 0, 0, 0]], "kept": [64, 64], "latent": [512, 64], "chosen": 2048, "index": [128, 78], "turned": 78, "label": "GLM-5"},
  kimi_linear: {"year": 2025, "strip": "LLLFLLLFLLLFLLLFLLLFLLLFLLF", "norms": "pre", "cache": [[20, 0, 0, 0, 1146880], [7, 1152, 0, 0, 0]], "kept": [32, 32], "latent": [512, 64], "delta": 1, "bare": 7, "label": "Kimi Linear 48B-A3B"},
  mamba2: {"year": 2024, "strip": "LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL", "norms": "pre", "cache": [[64, 0, 0, 0, 1353728]], "label": "Mamba-2 2.7B"},
  jamba: {"year": 2024, "strip": "LLLLFLLLLLLLFLLLLLLLFLLLLLLLFLLL", "norms": "pre", "cache": [[28, 0, 0, 0, 327680], [4, 4096, 0, 0, 0]], "kept": [32, 8], "bare": 4, "label": "Jamba v0.1"},
  falcon_h1: {"year": 2025, "strip": "HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH", "norms": "pre", "cache": [[44, 1024, 0, 0, 1601536]], "kept": [12, 2], "turned": 44, "label": "Falcon-H1 7B"},
};
