// Opens a session with the code in the fragment, or with a token.
const message = document.getElementById("message");

async function login(body) {
  const answer = await fetch("/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.ok) {
    location.replace("/");
    return;
  }
  const problem = await answer.json();
  message.textContent = problem.detail;
}

function useCode() {
  const code = location.hash.slice(1);
  if (code) {
    history.replaceState(null, "", location.pathname);
    login({ code });
  }
}

useCode();
// An address with a code that is opened in this tab changes the fragment only.
window.addEventListener("hashchange", useCode);
document.getElementById("login").addEventListener("submit", (event) => {
  event.preventDefault();
  login({ token: document.getElementById("token").value.trim() });
});
