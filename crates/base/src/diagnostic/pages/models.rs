//! Pages of `KB07xx`: models and providers.

pages! { TABLE;
    NO_MODEL = "KB0701", "no model configured",
r#"A specialist step needs a model, and none is configured for its model tier or name. Configure one of
these:

  1. an API key in the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …
  2. a local server: start Ollama, llama.cpp or LM Studio, or name any OpenAI-compatible server with
     KB_LLM_ENDPOINT=http://127.0.0.1:8080/v1 and KB_LLM_MODEL=name
  3. a script in place of a model: --script FILE

`llm.tiers` in the settings assigns a model to each tier. `kb doctor` shows the result."#;

    MODEL_BUSY = "KB0702", "model temporarily unavailable",
r#"The provider was overloaded (429), failed (5xx) or could not be reached, or the response was cut
off. The request may succeed later, so the outcome of the attempt is `transient`, and a retry policy
repeats it. A `retry-after` of the provider is respected.

    retry: {max: 3, on: [transient], backoff: exponential, initial: 1s}

If a local server cannot be reached, the message contains its address: check that it is running."#;

    MODEL_TIMEOUT = "KB0703", "model timeout",
r#"The response did not finish within the remaining time of the step. The outcome is `timeout`.

Give the step or the specialist more time, or ask for a shorter response:

    timeout: 10m                     # of the step
    limits: {timeoutMs: 600000}      # of the specialist
    llm: {maxTokens: 2000}"#;

    MODEL_REFUSED = "KB0704", "provider rejected the request",
r#"The provider returned a status that a retry will not change:

  401, 403   the API key is wrong or missing; the message names its variable
  404        the endpoint or the name of the model is wrong: `llm.tiers.TIER.model`, `.endpoint`
  400, 422   the model does not accept such a request: too long, no tools, unknown parameter

`kb doctor --call` makes one small call to each tier and shows the response."#;

    SCRIPT_ENDED = "KB0705", "script has no turn for this call",
r#"The run plays a script, and a step needed a turn that the script does not have. Turns are looked up
as `instance#attempt`, `step#attempt`, `instance` and `step`. An attempt without a key of its own starts
at the first turn of its step.

Fixed:

    steps:
      implement:                # attempt 1, and every attempt without a key of its own
        - output: {summary: done}
      implement#2:              # the second attempt
        - output: {summary: done better}

`--record FILE` writes such a file from a real model."#;

    MODEL_TRUNCATED = "KB0706", "response reached its length limit",
r#"The model stopped because the response reached `maxTokens`, or the maximum of the model. The partial
response is kept in the log, but does not count as a result: an object in a text that was cut off is no
output, and a tool call that was cut off is not executed. The model is told so and tries again; after three such
responses in a row the attempt fails. The message has the model, the tokens and the limit.

Allow a longer response, or ask for less at a time:

    llm: {maxTokens: 8000}              # of the specialist

Responses of other calls have limits of their own. If one is cut off, a note or the reason of the gate has this code:

    judge: {maxTokens: 8000}            # the judge; its check is inconclusive without an assessment

The questions of `agentLoop` have the limit of the specialist. The summary of a long history has at most 700 tokens. Without one, later steps see the newest steps only."#;
}
