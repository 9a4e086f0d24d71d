import { describe, expect, test } from 'vitest'
import { contractOf, loadContract } from './contract.ts'
import type { Microversion } from './microversions.ts'

const compute = loadContract('compute')
const SERVER = { name: 'one', flavorRef: '1' }

function bodyFailure(id: string, version: Microversion, body: unknown): string {
  return failureOf(() => compute.operation(id).request(version).validateBody(body))
}

function queryFailure(id: string, version: Microversion, query: string): string {
  const params = new URLSearchParams(query)
  return failureOf(() => compute.operation(id).request(version).validateQuery(params))
}

function failureOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    expect(error).toMatchObject({ kind: 'invalid' })
    return (error as Error).message
  }
  throw new Error('nothing was refused')
}

describe('validateBody()', () => {
  test('gives the documented spelling of values that Nova accepts in other spellings', () => {
    const body = { server: { ...SERVER, flavorRef: 1, min_count: '2', config_drive: 'True' } }
    expect(compute.operation('createServer').request('2.1').validateBody(body)).toEqual({
      server: { name: 'one', flavorRef: '1', min_count: 2, config_drive: true },
    })
  })

  test('names the microversion a field needs, and the one asked for', () => {
    const body = { server: { ...SERVER, networks: 'auto', hostname: 'h1' } }
    expect(bodyFailure('createServer', '2.79', body)).toBe(
      "Invalid input for field 'server': 'hostname' is not known at microversion 2.79; it needs 2.90.",
    )
    expect(bodyFailure('createServer', '2.80', body)).toContain('at microversion 2.80;')
  })

  test('names the last microversion of a field that is gone', () => {
    const body = { server: { ...SERVER, networks: 'auto', personality: [] } }
    expect(bodyFailure('createServer', '2.57', body)).toContain(
      "'personality' is not known at microversion 2.57; it was known until 2.56",
    )
  })

  test('names every range of a field that went and returned', () => {
    const body = { server: { ...SERVER, networks: [{ tag: 'a' }] } }
    expect(bodyFailure('createServer', '2.40', body)).toBe(
      "Invalid input for field 'server.networks[0]': 'tag' is not known at microversion 2.40; it needs 2.32 to 2.36 or at least 2.42.",
    )
  })

  test('says of a misspelt field only that it is not known', () => {
    expect(bodyFailure('createServer', '2.1', { server: { ...SERVER, naem: 1 } })).toBe(
      "Invalid input for field 'server': 'naem' is not known.",
    )
  })

  test('names every wrong field at once', () => {
    const message = bodyFailure('createServer', '2.1', {
      server: { name: ' x', metadata: { 'a/b': 'c' }, user_data: '***' },
    })
    expect(message).toContain("'flavorRef' is required")
    expect(message).toContain("'server.name': it must be printable characters")
    expect(message).toContain("'server.metadata': 'a/b' is not a permitted name")
    expect(message).toContain("'server.user_data': it is not base64")
  })

  test('never repeats a value, which may be a secret', () => {
    const message = bodyFailure('createServer', '2.1', { server: { ...SERVER, adminPass: 12345 } })
    expect(message).toBe("Invalid input for field 'server.adminPass': it must be a string.")
  })

  test('speaks of the form that was meant, where several are permitted', () => {
    const message = (networks: unknown) =>
      bodyFailure('createServer', '2.37', { server: { ...SERVER, networks } })
    expect(message('some')).toBe(
      `Invalid input for field 'server.networks': it must be one of "none", "auto".`,
    )
    expect(message([{ uuid: 'x' }])).toBe(
      "Invalid input for field 'server.networks[0].uuid': it is not a UUID.",
    )
    expect(message(7)).toBe(
      "Invalid input for field 'server.networks': it has none of the permitted forms.",
    )
  })

  test('requires a field from the microversion on that made it required', () => {
    const validate = (version: Microversion) =>
      compute.operation('createServer').request(version).validateBody({ server: SERVER })
    expect(validate('2.36')).toEqual({ server: SERVER })
    expect(() => validate('2.37')).toThrow("'networks' is required")
  })

  test('refuses an absent body where one is needed', () => {
    expect(bodyFailure('createServer', '2.1', undefined)).toContain('body is required')
  })
})

describe('validateQuery()', () => {
  test('reads values by their type: the last of a repeated scalar, all of a list', () => {
    const query = new URLSearchParams(
      'limit=1&limit=3&status=A&status=B&all_tenants=&name=web&sort_key=uuid&sort_key=host',
    )
    expect(compute.operation('listServers').request('2.1').validateQuery(query)).toEqual({
      limit: 3,
      status: ['A', 'B'],
      all_tenants: true,
      name: 'web',
      sort_key: ['uuid', 'host'],
    })
  })

  test('ignores unknown names until 2.74 and refuses them from 2.75', () => {
    const request = (version: Microversion) => compute.operation('listServers').request(version)
    const query = new URLSearchParams('foo=1&__proto__=2')
    expect(request('2.74').validateQuery(query)).toEqual({})
    expect(queryFailure('listServers', '2.75', 'foo=1')).toBe("Invalid input: 'foo' is not known.")
    expect(queryFailure('listServers', '2.75', '__proto__=2')).toContain("'__proto__' is not known")
  })

  test('names the microversion a parameter needs, where it is refused', () => {
    expect(queryFailure('listInstanceActions', '2.60', 'changes-before=2026-01-01')).toBe(
      "Invalid input: 'changes-before' is not known at microversion 2.60; it needs 2.66.",
    )
  })

  test('refuses a parameter given twice only where Nova does', () => {
    const query = 'limit=1&limit=2'
    const request = compute.operation('listHypervisors').request('2.52')
    expect(request.validateQuery(new URLSearchParams(query))).toEqual({ limit: 2 })
    expect(queryFailure('listHypervisors', '2.53', query)).toContain("query parameter 'limit'")
  })

  test('refuses wrong values even when a later one is right', () => {
    expect(queryFailure('listServers', '2.1', 'limit=-1&limit=2')).toContain('>= 0')
    expect(queryFailure('listServers', '2.1', 'all_tenants=maybe')).toContain('a boolean')
    expect(queryFailure('listServers', '2.1', 'name=*')).toContain('linear time')
  })
})

describe('action()', () => {
  const PATH = '/v2.1/servers/{server_id}/action'

  test('chooses by the key of the body', () => {
    expect(compute.action(PATH, '2.1', { 'os-start': null }).id).toBe('startServer')
  })

  test.each([
    [{}, 'invalid'],
    [{ a: 1, b: 2 }, 'invalid'],
    [{ shrink: null }, 'invalid'],
    [[], 'invalid'],
    [null, 'not-found'],
    ['os-start', 'not-found'],
  ])('refuses %j as %s', (body, kind) => {
    expect(() => compute.action(PATH, '2.1', body)).toThrow(expect.objectContaining({ kind }))
  })

  test('names the field below the key', () => {
    expect(bodyFailure('rebootServer', '2.1', { reboot: { type: 'WARM' } })).toContain(
      "'reboot.type': it must be one of",
    )
  })
})

describe('response()', () => {
  test('prunes the widest object to the microversion', () => {
    const keypair = {
      name: 'k',
      public_key: 'p',
      fingerprint: 'f',
      user_id: 'u',
      private_key: 's',
      type: 'ssh',
    }
    const write = (version: Microversion) => {
      const operation = compute.operation('createKeypair')
      const text = operation.response(version, operation.successStatus(version))({ keypair })
      return Object.keys((JSON.parse(text) as { keypair: object }).keypair)
    }
    expect(write('2.1')).toEqual(['name', 'public_key', 'fingerprint', 'user_id', 'private_key'])
    expect(write('2.2')).toContain('type')
    expect(write('2.92')).not.toContain('private_key')
  })

  test('writes nothing for a response without content', () => {
    expect(compute.operation('deleteServer').response('2.1', 204)(undefined)).toBe('')
  })

  test('has the status of its microversion', () => {
    const status = (version: Microversion) =>
      compute.operation('deleteKeypair').successStatus(version)
    expect([status('2.1'), status('2.2')]).toEqual([202, 204])
  })
})

test('contractOf() reads each document once in a process', () => {
  expect(contractOf('image')).toBe(contractOf('image'))
  expect(contractOf('image').name).toBe('image')
})

describe('compilation', () => {
  test('happens when asked for, once for all microversions between two changes', () => {
    const fresh = loadContract('compute')
    const use = (version: Microversion) => {
      const operation = fresh.operation('listHypervisors')
      operation.request(version).validateQuery(new URLSearchParams())
      operation.response(version, 200)
    }
    expect(fresh.compiled).toBe(0)
    use('2.53')
    expect(fresh.compiled).toBe(2)
    use('2.54')
    use('2.93')
    expect(fresh.compiled).toBe(2)
    use('2.52')
    expect(fresh.compiled).toBe(4)
  })
})

describe('document()', () => {
  test('has no annotation, and only the members of its microversion', () => {
    const document = compute.document('2.1')
    expect(JSON.stringify(document)).not.toMatch(/"x-/)
    expect(document['info']).toMatchObject({ version: '2.1' })
    const paths = document['paths'] as Record<string, object>
    expect(Object.keys(paths['/v2.1/flavors/{flavor_id}'] ?? {})).not.toContain('put')
    expect(paths).not.toHaveProperty(['/v2.1/os-services/force-down'])
    expect(compute.document('2.11')['paths']).toHaveProperty(['/v2.1/os-services/force-down'])
  })
})
