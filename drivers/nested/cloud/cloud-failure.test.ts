import { expect, test } from 'vitest'
import { cloudFailure } from './cloud-failure.ts'

const GLANCE =
  '<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1>No image found<br /></body></html>'
const PROXY =
  '<html><head><title>404 Not Found</title></head><body><center><h1>404 Not Found</h1></center><hr></body></html>'

test.each([
  ['Nova', 404, '{"itemNotFound":{"code":404,"message":"No such server"}}', 'not-found'],
  ['Neutron', 409, '{"NeutronError":{"type":"IpAddressInUse","message":"taken"}}', 'conflict'],
  ['Glance', 404, GLANCE, 'not-found'],
  ['a quota', 403, '{"forbidden":{"message":"Quota exceeded for instances"}}', 'no-capacity'],
  ['a quota of Cinder', 413, '{"overLimit":{"message":"It exceeds the quota"}}', 'no-capacity'],
  ['a rule', 403, '{"forbidden":{"message":"Policy does not allow it"}}', 'forbidden'],
  ['a proxy', 404, PROXY, 'unavailable'],
  ['something that broke', 500, '{"computeFault":{"message":"oops"}}', 'unavailable'],
])('cloudFailure() of %s', (_what, status, body, kind) => {
  const failure = cloudFailure({ what: 'GET /x', status, body })

  expect(failure.kind).toBe(kind)
  expect(failure.detail).toContain(`GET /x answered ${status}`)
  expect(failure.message).not.toContain('exceeded')
})
