pages! { TABLE;
    NO_MODEL = "KB0701", "no model",
        "A specialist step needs a model, and none was found for its tier or name.

One of these gives one:
  1. a key in the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, ...
  2. a local server: start Ollama, llama.cpp or LM Studio, or name any OpenAI-compatible
     one with KB_LLM_ENDPOINT=http://127.0.0.1:8080/v1 and KB_LLM_MODEL=name
  3. a script that stands in for a model: --script FILE

`llm.tiers` in the settings chooses a model for each tier. `kb doctor` shows what was found.";
    MODEL_BUSY = "KB0702", "the model could not answer now",
        "The provider was too busy (429), failed (5xx), could not be reached, or its answer was cut off
before its end. The same question may work later, so the outcome of the attempt is `transient`.

A `retry` row repeats it; what the provider says in `retry-after` is kept:
  retry: {max: 3, on: [transient], backoff: exponential, initial: 1s}

Where a local server cannot be reached, the message names its address: see that it runs.";
    MODEL_TIMEOUT = "KB0703", "the model did not answer in time",
        "The answer did not end within the time that the step still had. The outcome is `timeout`.

Give the step more time, or the specialist a shorter answer:
  timeout: 10m                     # of the step
  limits: {timeoutMs: 600000}      # of the specialist
  llm: {maxTokens: 2000}";
    MODEL_REFUSED = "KB0704", "the provider refused the request",
        "The provider answered with a status that asking again will not change.

  401, 403   the key is wrong or missing: the message names the variable it came from
  404        the endpoint or the model's name is wrong: `llm.tiers.TIER.model`, `.endpoint`
  400, 422   the model does not take such a request: too long, no tools, no such parameter

`kb doctor --call` makes one small call to each tier and shows what comes back.";
    SCRIPT_ENDED = "KB0705", "the script has no such turn",
        "The run plays a script, and a step asked for a turn that is not in it.

Turns are looked up as `instance#attempt`, `step#attempt`, `instance`, `step`; an attempt without
a key of its own starts the list of its step at the first turn again:
  steps:
    implement:                # attempt 1, and any attempt without a key of its own
      - output: {summary: done}
    implement#2:              # the second attempt
      - output: {summary: done better}

Add the turn that the message names. `--record FILE` writes such a file from a real model.";
    MODEL_TRUNCATED = "KB0706", "the answer reached its length limit",
        "The model stopped because its answer reached `maxTokens`, or the longest answer it can give.
What came is kept, but a cut answer is no finished work.

Allow more, or ask for less at once:
  llm: {maxTokens: 8000}";
}
