import { expect, test } from 'vitest'
import { noAnswer } from './no-answer.ts'

test.each([
  ['CERT_HAS_EXPIRED', 'The certificate of the nested cloud is not trusted.', 'it has expired'],
  ['CERT_NOT_YET_VALID', 'The certificate of the nested cloud is not trusted.', 'not valid yet'],
  ['UND_ERR_HEADERS_TIMEOUT', 'The nested cloud does not answer.', 'in time'],
  ['SOMETHING_NEW', 'The nested cloud does not answer.', 'what it says itself'],
])('noAnswer() of %s', (code, message, why) => {
  const cause = Object.assign(new Error('what it says itself'), { code })
  const failure = noAnswer(cause, 'https://cloud.example')

  expect(failure).toMatchObject({ kind: 'unavailable', message, cause })
  expect(failure.detail).toContain(`https://cloud.example: `)
  expect(failure.detail).toContain(why)
})
