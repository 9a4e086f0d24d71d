import { expect, test } from 'vitest'
import { newJoinSecret, readJoinToken, writeJoinToken } from '#gateway/app/federation/join-token.ts'
import { exchangeToken } from './exchange-token.ts'

const secret = newJoinSecret()
const pin = newJoinSecret()

test('a join token holds its secret, and the pin if there is one', () => {
  expect(readJoinToken(writeJoinToken({ secret, pin }))).toEqual({ secret, pin })
  expect(readJoinToken(` ${writeJoinToken({ secret, pin: undefined })}\n`)).toEqual({ secret })
})

test.each(['', 'weir1', `weir2.${secret}`, `weir1.${secret}x`, `weir1.${secret}.`, `${secret}`])(
  '%j is no join token',
  (text) => {
    expect(() => readJoinToken(text)).toThrow('This is not a complete join token')
  },
)

test.each([
  ['one with a pin over http', 'http://127.0.0.1:9', { secret, pin }, 'names a certificate'],
  [
    'one without over the network',
    'http://192.0.2.1:9',
    { secret, pin: undefined },
    'in the clear',
  ],
])('exchangeToken() does not send %s', async (_what, url, parts, reason) => {
  await expect(exchangeToken(url, writeJoinToken(parts), 'U')).rejects.toThrow(reason)
})
