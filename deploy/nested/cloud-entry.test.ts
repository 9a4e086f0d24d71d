import { describe, expect, test } from 'vitest'
import { cloudEntry } from './cloud-entry.ts'

const auth = { auth_url: 'https://keystone.example/v3' }
const password = { ...auth, username: 'u', password: 'p', project_name: 'q' }

describe('cloudEntry()', () => {
  test.each([
    [
      'a password',
      { ...password, user_domain_name: 'People', project_domain_id: 'default' },
      { user: 'u', password: 'p', project: 'q', user_domain: 'People', project_domain: 'default' },
    ],
    [
      'an application credential',
      { ...auth, application_credential_id: 'i', application_credential_secret: 's' },
      { application_credential_id: 'i', application_credential_secret: 's' },
    ],
  ])('reads %s', (_what, given, login) => {
    expect(cloudEntry({ region_name: 'One', auth: given })).toEqual({
      login,
      settings: { auth_url: auth.auth_url, region: 'One' },
    })
  })

  test.each([
    ['no secret', {}, { ...auth, username: 'u' }, 'auth has no password'],
    ['a domain by its id', {}, { ...password, user_domain_id: 'abc' }, 'user_domain_name'],
    ['unverified TLS', { verify: false }, password, 'set cacert'],
  ])('refuses %s', (_what, entry, given, message) => {
    expect(() => cloudEntry({ ...entry, auth: given })).toThrow(message)
  })
})
