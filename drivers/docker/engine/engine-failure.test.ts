import { expect, test } from 'vitest'
import { engineFailure } from './engine-failure.ts'

test.each([
  [404, '{"message":"No such container"}', 'not-found', 'The container engine refused.'],
  [409, '{"message":"The name is in use"}', 'conflict', 'The container engine refused.'],
  [503, 'not yet', 'unavailable', 'The container engine refused.'],
  [500, '{"message":"cannot fork"}', 'internal', 'The container engine refused.'],
  [
    500,
    '{"message":"mkdir /x: no space left on device"}',
    'no-capacity',
    'The container engine has no room left on its disk.',
  ],
])('engineFailure() of %i with %j is %s', (status, body, kind, message) => {
  expect(engineFailure(status, body)).toMatchObject({ kind, message })
})
