import { describe, expect, test } from 'vitest'
import { authRequest } from './auth-request.ts'
import { cloudConfig } from './cloud-config.ts'
import type { Clouds } from './clouds-file.ts'

const AUTH = { auth_url: 'https://one.example/v3', username: 'ann', password: 'p' }
const CLOUDS: Clouds = {
  one: { auth: { ...AUTH, project_name: 'demo', user_domain_id: 'd1' }, region_name: 'R1' },
  two: { auth: AUTH, verify: false, cacert: '/two.pem', interface: 'internalURL' },
}
const meant = (
  options: Parameters<typeof cloudConfig>[0] = {},
  env: Readonly<Record<string, string>> = {},
  clouds: Clouds = CLOUDS,
) => cloudConfig(options, env, clouds, 'own')

describe('cloudConfig', () => {
  test('takes the cloud named by the option, else by the environment', () => {
    expect(meant({ osCloud: 'two' }, { OS_CLOUD: 'one' }).name).toBe('two')
    expect(meant({}, { OS_CLOUD: 'one', OS_AUTH_URL: 'https://other' }).name).toBe('one')
  })

  test('uses the cloud of the environment, else the fallback, else the only cloud', () => {
    const env = { OS_AUTH_URL: 'https://env.example', OS_USERNAME: 'eve', OS_PASSWORD: '' }
    expect(meant({}, env)).toMatchObject({
      name: 'envvars',
      auth: { auth_url: 'https://env.example', username: 'eve' },
    })
    expect(meant({}, {}, { ...CLOUDS, own: { auth: AUTH } }).name).toBe('own')
    expect(meant({}, {}, { only: { auth: AUTH } }).name).toBe('only')
  })

  test('reads region, interface and CA bundle from the nearest place', () => {
    expect(meant({ osCloud: 'two' })).toMatchObject({
      region: undefined,
      interface: 'internal',
      caFile: '/two.pem',
      isInsecure: true,
    })
    expect(
      meant({ osCloud: 'one', osRegionName: 'R2', osCacert: '/o.pem' }, { OS_REGION_NAME: 'R3' }),
    ).toMatchObject({ region: 'R2', caFile: '/o.pem', isInsecure: false })
    expect(meant({ osCloud: 'one' }, { OS_INSECURE: 'True' }).isInsecure).toBe(true)
  })

  test('lists the known names when none is given, or an unknown one', () => {
    expect(() => meant()).toThrow('Set OS_CLOUD, or give --os-cloud. There are: one, two.')
    expect(() => meant({ osCloud: 'six' })).toThrow('There is no cloud six. There are: one, two.')
    expect(() => meant({}, {}, {})).toThrow('No clouds.yaml was found')
  })
})

describe('authRequest', () => {
  const asked = (auth: Readonly<Record<string, string>>, authType?: string) =>
    authRequest({ ...meant({ osCloud: 'one' }), auth, authType })

  test('asks by password, in the scope that is named', () => {
    const password = { user: { name: 'ann', domain: { id: 'd1' }, password: 'p' } }
    const identity = { methods: ['password'], password }
    const base = { ...AUTH, user_domain_id: 'd1' }
    const project = { name: 'demo', domain: { name: 'Default' } }

    expect(asked(base)).toEqual({ auth: { identity } })
    expect(asked({ ...base, project_name: 'demo', project_domain_name: 'Default' })).toEqual({
      auth: { identity, scope: { project } },
    })
    expect(asked({ ...base, system_scope: 'all' })).toEqual({
      auth: { identity, scope: { system: { all: true } } },
    })
  })

  test('asks by token and by application credential', () => {
    expect(asked({ token: 't', project_id: 'p' })).toEqual({
      auth: {
        identity: { methods: ['token'], token: { id: 't' } },
        scope: { project: { id: 'p' } },
      },
    })
    expect(asked({ application_credential_id: 'i', application_credential_secret: 's' })).toEqual({
      auth: {
        identity: {
          methods: ['application_credential'],
          application_credential: { id: 'i', secret: 's' },
        },
      },
    })
  })

  test('says which settings are missing, and which kinds there are', () => {
    expect(() => asked({ username: 'ann' })).toThrow('Cloud one has no password. Set OS_PASSWORD')
    expect(() => asked(AUTH, 'v3oidcpassword')).toThrow('The auth_type v3oidcpassword of cloud one')
  })
})
