//! Pages of `KB11xx`: requests to the HTTP server.

pages! { TABLE;

    REQUEST_REFUSED = "KB1101", "request is refused",
r#"The server accepts requests only for its own names, from its own pages or from programs, and with JSON
bodies. This keeps pages of other sites from using it through the browser of a person.

- Status 421: the `Host` is not one of the server. `kb serve` prints its address; behind a proxy, name the
  host with `kb serve --host kb.example.org`.
- Status 403: the request comes from a page of another site. A session needs the `Origin` of the server for
  every request that writes; use a token in programs.
- Status 415: a request that writes has no `Content-Type: application/json`.

    curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '{}' ADDRESS"#;

    UNAUTHENTICATED = "KB1102", "token or session is not valid",
r#"The request has no token and no session, or one that has ended or was revoked.

    kb serve token create --name ci --role run
    curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:7900/api/v1/runs

`kb serve --open` opens a session in the browser. Tokens are accepted in the header only, never in an address."#;

    FORBIDDEN = "KB1103", "role does not allow this",
r#"The token or session has a smaller role than the request needs. The roles are `read`, `run`, `approve` and
`admin`; each includes those before it.

    kb serve token create --name phone --role approve"#;

    BAD_REQUEST = "KB1104", "request does not fit",
r#"A parameter or the body of the request is not what the address accepts. Nothing was changed. The message
names the part; `GET /api/v1/openapi.json` describes all of them.

Wrong:

    GET /api/v1/runs?limit=many

Fixed:

    GET /api/v1/runs?limit=50"#;

    TOO_MANY_REQUESTS = "KB1105", "too many requests",
r#"A limit of the server is reached: failed logins from one address, open streams, or starts that wait. Try
again after the time in the header `Retry-After`."#;

    ADDRESS_UNUSABLE = "KB1106", "address cannot be used",
r#"`kb serve` cannot listen on the address: another process uses the port, or the address can be reached by
other machines and no host is named.

Wrong:

    kb serve --listen 0.0.0.0

Fixed:

    kb serve --listen 0.0.0.0 --host kb.example.org

The server has no encryption. Put a proxy with TLS in front of it, see docs/serve.md."#;

    CHANGED_MEANWHILE = "KB1107", "state has changed meanwhile",
r#"The request is about a state that is no longer there: another person has decided, the question is another
one, or the evidence has changed since it was shown. Nothing was changed. Read it again and decide again."#;
}
