import { expect, test } from 'vitest'
import { ERROR_KINDS, Failure } from '#common/errors.ts'
import { PlacementFailure } from '../app/placement/placement-failure.ts'
import { faultOf } from './faults.ts'
import { HttpRefusal } from './http-refusal.ts'

const NOVA = {
  invalid: [400, 'badRequest'],
  // As keystonemiddleware words it.
  unauthenticated: [401, 'error'],
  forbidden: [403, 'forbidden'],
  'not-found': [404, 'itemNotFound'],
  conflict: [409, 'conflictingRequest'],
  'over-quota': [403, 'forbidden'],
  'too-large': [413, 'overLimit'],
  'no-capacity': [503, 'serviceUnavailable'],
  unsupported: [501, 'notImplemented'],
  unavailable: [503, 'serviceUnavailable'],
  internal: [500, 'computeFault'],
} as const

test.each(ERROR_KINDS)('%s has Nova’s status and name', (kind) => {
  const fault = faultOf(new Failure(kind, 'Text.'), 'nova')
  const [status, name] = NOVA[kind]

  expect(fault.status).toBe(status)
  expect(JSON.parse(fault.body)).toMatchObject({ [name]: { code: status } })
})

test.each([
  ['nova', { itemNotFound: { code: 404, message: 'Text.' } }],
  ['cinder', { itemNotFound: { code: 404, message: 'Text.' } }],
  ['keystone', { error: { code: 404, message: 'Text.', title: 'Not Found' } }],
  ['glance', { error: { code: 404, message: 'Text.', title: 'Not Found' } }],
  ['neutron', { NeutronError: { type: 'HTTPNotFound', message: 'Text.', detail: '' } }],
] as const)('%s has an envelope of its own', (style, expected) => {
  expect(JSON.parse(faultOf(new Failure('not-found', 'Text.'), style).body)).toEqual(expected)
})

test('Placement’s envelope has the code of a failure that has one', () => {
  const code = 'placement.concurrent_update'
  const named = faultOf(new PlacementFailure('conflict', code, 'Text.'), 'placement', 'req-1')
  const error = { status: 409, title: 'Conflict', detail: 'Text.', request_id: 'req-1' }

  expect(named.status).toBe(409)
  expect(JSON.parse(named.body)).toEqual({ errors: [{ ...error, code }] })
  const other = faultOf(new Failure('conflict', 'Text.'), 'placement', 'req-1')
  expect(JSON.parse(other.body)).toEqual({
    errors: [{ ...error, code: 'placement.undefined_code' }],
  })
})

test.each([
  ['nova', 403],
  ['neutron', 409],
  ['glance', 413],
  ['cinder', 413],
] as const)('an exhausted quota of %s is a %d', (style, status) => {
  expect(faultOf(new Failure('over-quota', 'Text.'), style).status).toBe(status)
})

test('an exhausted quota of Cinder may be tried again at once', () => {
  const { body, retryAfter } = faultOf(new Failure('over-quota', 'Text.'), 'cinder')

  expect(JSON.parse(body)).toEqual({ overLimit: { code: 413, message: 'Text.', retryAfter: '0' } })
  expect(retryAfter).toBe(0)
  expect(faultOf(new Failure('too-large', 'Text.'), 'cinder').retryAfter).toBeUndefined()
})

test.each([
  ['a bug', new TypeError('secret of a bug')],
  ['an internal failure', new Failure('internal', 'secret of a failure')],
  ['a detail', new Failure('conflict', 'Text.', { detail: 'secret detail' })],
  ['a cause', new Failure('unavailable', 'Text.', { cause: new Error('secret cause') })],
])('%s does not leave the process', (_name, error) => {
  expect(faultOf(error, 'nova').body).not.toContain('secret')
})

test('a failure that may pass says when to ask again', () => {
  expect(faultOf(new Failure('unavailable', 'Text.'), 'keystone').retryAfter).toBeGreaterThan(0)
  expect(faultOf(new Failure('conflict', 'Text.'), 'keystone').retryAfter).toBeUndefined()
})

test('an unsupported microversion is a computeFault, as Nova has no name for 406', () => {
  const { status, body } = faultOf(new HttpRefusal(406, 'Text.'), 'nova')

  expect(status).toBe(406)
  expect(JSON.parse(body)).toEqual({ computeFault: { code: 406, message: 'Text.' } })
})

test('an operator reads of broken and unreachable parts, and not of requests refused for their content', () => {
  const ownKinds = ERROR_KINDS.filter((kind) => faultOf(new Failure(kind, 'Text.'), 'nova').isOurs)

  expect(ownKinds).toEqual(['no-capacity', 'unavailable', 'internal'])
  expect(faultOf(new TypeError('a bug'), 'nova').isOurs).toBe(true)
})
