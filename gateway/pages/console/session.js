// What the pages of both kinds of console share.

/** What the address says behind its `#`; it no longer shows it afterwards, so nobody reads the token over a shoulder. */
function takeAddress() {
  const said = new URLSearchParams(location.hash.slice(1))
  history.replaceState(null, '', location.pathname)
  return { token: said.get('token') ?? '', server: said.get('server') ?? '' }
}

/**
 * Begins a console: names the server, and lets `connect` open the connection to a URL with subprotocols. A page that was
 * given no token, as after a reload, says so instead.
 */
export function begin(connect) {
  const { token, server } = takeAddress()
  if (server !== '') {
    document.getElementById('server').textContent = server
    document.title = `${server} – ${document.title}`
  }
  const screen = document.getElementById('console')
  document.getElementById('full-screen').addEventListener('click', () => void screen.requestFullscreen())
  if (token === '') {
    end('This page opens a console once. Its address no longer has the token.')
    return
  }
  const url = new URL('../socket', document.baseURI)
  url.protocol = url.protocol.replace('http', 'ws')
  connect(url.href, ['binary', `token.${token}`])
}

/** Shows the console; from now on it takes keystrokes. */
export function opened() {
  tell('Connected')
  isOpen = true
}

/** The connection is gone, or never came about. What was shown last stays readable. */
export function closed() {
  if (isOpen) tell('Closed: the server or the network ended the connection')
  else end('The console did not open: its address was used before or has expired, or the server is off.')
}

let isOpen = false

function end(reason) {
  tell('Closed')
  document.getElementById('console').hidden = true
  document.getElementById('full-screen').disabled = true
  document.getElementById('reason').textContent = reason
  document.getElementById('end').hidden = false
}

/** Text only: nothing a guest says can become part of the page. */
function tell(text) {
  document.getElementById('state').textContent = text
}
