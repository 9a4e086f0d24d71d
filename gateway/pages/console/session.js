// What the pages of both kinds of console share.

/** The one-time token; the address no longer shows it afterwards, so nobody reads it over a shoulder. */
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? ''
  history.replaceState(null, '', location.pathname)
  return token
}

export function socketUrl() {
  const url = new URL('../socket', document.baseURI)
  url.protocol = url.protocol.replace('http', 'ws')
  return url.href
}

export function protocolsFor(token) {
  return ['binary', `token.${token}`]
}

/** Text only: nothing a guest says can become part of the page. */
export function tell(text) {
  const state = document.getElementById('state')
  state.textContent = text
  state.hidden = text === ''
}

export const CLOSED = 'Closed. A console opens once: ask for a new URL.'
