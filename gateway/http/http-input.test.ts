import { expect, test } from 'vitest'
import { withoutIdentityHeaders } from './http-input.ts'

test.each([
  'X-User-Id',
  'x-user-name',
  'X-Roles',
  'X-Role',
  'X-Project-Id',
  'X-Project-Domain-Name',
  'X-Tenant-Id',
  'X-Domain-Id',
  'X-Identity-Status',
  'X-Service-Roles',
  'X-Is-Admin-Project',
  'OpenStack-System-Scope',
])('a handler does not see %s', (name) => {
  expect(withoutIdentityHeaders(() => 'forged')(name)).toBeUndefined()
})

test.each(['Content-Type', 'X-Subject-Token', 'x-image-meta-name', 'If-Match'])(
  'a handler sees %s',
  (name) => {
    expect(withoutIdentityHeaders((it) => it)(name)).toBe(name.toLowerCase())
  },
)
