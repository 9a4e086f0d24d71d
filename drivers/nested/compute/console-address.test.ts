import { expect, test } from 'vitest'
import { consoleAddress } from './console-address.ts'

test.each([
  ['a Weir', 'https://c:1/console/vnc#token=t', 'wss://c:1/console/socket', ['binary', 'token.t']],
  ['noVNC', 'http://c:6080/vnc_auto.html?path=%3Ftoken%3Dt', 'ws://c:6080/websockify?token=t'],
  ['an older noVNC', 'http://c:6080/vnc_auto.html?token=t', 'ws://c:6080/websockify?token=t'],
  ['a serial proxy', 'ws://c:6083/?token=t', 'ws://c:6083/websockify?token=t'],
])('consoleAddress() of %s', (_what, given, url, protocols = ['binary']) => {
  expect(consoleAddress(given)).toEqual({ url, protocols })
})

test.each(['nonsense', 'http://c/'])('consoleAddress() knows no token in %s', (given) => {
  expect(consoleAddress(given)).toBeUndefined()
})
