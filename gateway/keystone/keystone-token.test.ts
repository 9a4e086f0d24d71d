import { expect, test } from 'vitest'
import { callerFrom, type KeystoneToken } from './keystone-token.ts'

const domain = { id: 'default', name: 'Default' }
const token: KeystoneToken = {
  expires_at: '2030-01-01T00:00:00.000000Z',
  user: { id: 'u1', name: 'ann', domain },
  project: { id: 'p1', name: 'lab', domain },
  roles: [{ id: 'r1', name: 'admin' }],
}

test('an administrator is one in a project and on the system, and not in a domain', () => {
  const { project: _, ...unscoped } = token
  expect(callerFrom(token, 't')).toMatchObject({ projectId: 'p1', isAdmin: true, tokenId: 't' })
  expect(callerFrom({ ...unscoped, system: { all: true } }, 't')).toMatchObject({
    isSystemScoped: true,
    isAdmin: true,
    projectId: null,
  })
  expect(callerFrom({ ...unscoped, domain }, 't')).toMatchObject({ isAdmin: false })
})

test('the token of an application credential has the rights of the credential', () => {
  const rules = [{ id: '1', service: 'compute', method: 'GET', path: '/v2.1/servers' }]
  const restricted = { ...token, application_credential: { restricted: true, access_rules: rules } }
  expect(callerFrom(restricted, 't')).toMatchObject({ mayDelegate: false, accessRules: rules })
  const open = { ...token, application_credential: { restricted: false } }
  expect(callerFrom(open, 't')).toMatchObject({ mayDelegate: true, accessRules: null })
})
