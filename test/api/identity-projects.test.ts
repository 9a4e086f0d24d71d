import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { administrator, clientOf, type IdentityClient } from './identity-client.ts'
import { type IdentityWorld, identityWorld } from './identity-world.ts'

const PASSWORD = 'a long enough password'

let world: IdentityWorld
let admin: IdentityClient

beforeAll(async () => {
  world = await identityWorld()
  const http = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  admin = await administrator(http, adminPassword)
})

afterAll(() => world?.[Symbol.asyncDispose]())

test('a domain is made, renamed, disabled, and then deleted with all that is in it', async () => {
  const domain = await admin.create('domains', { name: 'acme', description: null })
  expect(domain).toMatchObject({ enabled: true, description: '', options: {} })
  const project = await admin.create('projects', { name: 'web', domain_id: domain.id })
  const user = await admin.create('users', { name: 'ann', domain_id: domain.id })
  const group = await admin.create('groups', { name: 'staff', domain_id: domain.id })
  const role = await admin.create('roles', { name: 'own', domain_id: domain.id })

  const taken = await admin.expect(409, 'POST', '/v3/domains', { domain: { name: 'acme' } })
  expect(taken).toContain('Duplicate entry found with name acme')
  expect(await admin.expect(403, 'DELETE', `/v3/domains/${domain.id}`)).toContain(
    'Cannot delete a domain that is enabled',
  )
  const changed = await admin.update('domains', domain.id, { name: 'acme2', enabled: false })
  expect(changed).toMatchObject({ name: 'acme2', enabled: false })
  expect(await admin.list('/v3/domains?enabled=false')).toMatchObject([{ id: domain.id }])
  await admin.expect(204, 'DELETE', `/v3/domains/${domain.id}`)

  for (const path of [
    `domains/${domain.id}`,
    `projects/${project.id}`,
    `users/${user.id}`,
    `groups/${group.id}`,
    `roles/${role.id}`,
  ])
    await admin.expect(404, 'GET', `/v3/${path}`)
})

test('the default domain and immutable objects cannot be deleted', async () => {
  await admin.expect(403, 'DELETE', '/v3/domains/default')
  const domain = await admin.create('domains', {
    name: 'rock',
    enabled: false,
    options: { immutable: true },
  })

  await admin.expect(403, 'PATCH', `/v3/domains/${domain.id}`, { domain: { name: 'sand' } })
  const refusal = await admin.expect(403, 'DELETE', `/v3/domains/${domain.id}`)
  expect(refusal).toContain('"immutable" to false')
  await admin.update('domains', domain.id, { options: { immutable: null } })
  await admin.expect(204, 'DELETE', `/v3/domains/${domain.id}`)
})

test('a project keeps its description, tags, options and further properties', async () => {
  const { id } = await admin.create('projects', {
    name: 'shop',
    description: 'sells',
    tags: ['blue', 'old'],
    options: { immutable: true },
    cost_centre: '4711',
    links: 'forged',
  })

  const shown = await admin.show('projects', id)
  expect(shown).toMatchObject({
    domain_id: 'default',
    parent_id: 'default',
    is_domain: false,
    description: 'sells',
    tags: ['blue', 'old'],
    options: { immutable: true },
    cost_centre: '4711',
    links: { self: `http://cloud.test:8774/identity/v3/projects/${id}` },
  })
  const changed = await admin.update('projects', id, {
    name: 'shop2',
    cost_centre: null,
    options: { immutable: false },
  })
  expect(changed).toMatchObject({ name: 'shop2', description: 'sells', options: {} })
  expect(changed).not.toHaveProperty('cost_centre')
  await admin.expect(400, 'PATCH', `/v3/projects/${id}`, { project: { domain_id: 'other' } })
  await admin.expect(403, 'PATCH', `/v3/projects/${id}`, { project: { parent_id: 'other' } })
  await admin.expect(400, 'POST', '/v3/projects', { project: { name: ' ' } })
  await admin.expect(404, 'POST', '/v3/projects', { project: { name: 'x', domain_id: 'none' } })
  await admin.expect(400, 'POST', '/v3/projects', {
    project: { name: 'big', notes: 'x'.repeat(20_000) },
  })
  await admin.expect(204, 'DELETE', `/v3/projects/${id}`)
  await admin.expect(404, 'DELETE', `/v3/projects/${id}`)
})

test('projects nest, are shown with their relatives, and end from the leaves up', async () => {
  const top = await admin.create('projects', { name: 'top' })
  const mid = await admin.create('projects', { name: 'mid', parent_id: top.id })
  const low = await admin.create('projects', { name: 'low', parent_id: mid.id })
  const lowest = await admin.create('projects', { name: 'lowest', parent_id: low.id })

  await admin.expect(403, 'POST', '/v3/projects', {
    project: { name: 'deeper', parent_id: lowest.id },
  })
  const shown = await admin.show('projects', `${low.id}?parents_as_ids&subtree_as_list`)
  expect(shown).toMatchObject({
    parent_id: mid.id,
    parents: { [mid.id]: { [top.id]: { default: null } } },
    subtree: [{ project: { id: lowest.id } }],
  })
  const ids = await admin.show('projects', `${top.id}?subtree_as_ids&parents_as_list`)
  expect(ids).toMatchObject({
    parents: [],
    subtree: { [mid.id]: { [low.id]: { [lowest.id]: null } } },
  })
  expect(await admin.list(`/v3/projects?parent_id=${top.id}`)).toMatchObject([{ id: mid.id }])
  const right = await admin.list('/v3/projects?parent_id=default&name__startswith=t')
  expect(right).toMatchObject([{ id: top.id }])

  await admin.expect(403, 'DELETE', `/v3/projects/${mid.id}`)
  await admin.expect(403, 'PATCH', `/v3/projects/${mid.id}`, { project: { enabled: false } })
  for (const { id } of [lowest, low, mid, top])
    await admin.expect(204, 'DELETE', `/v3/projects/${id}`)
})

test('tags are listed, replaced, added, found and taken away', async () => {
  const { id } = await admin.create('projects', { name: 'tagged', tags: ['a', 'b'] })
  const other = await admin.create('projects', { name: 'untagged' })
  const tags = async () => (await admin.list(`/v3/projects/${id}/tags`)) as readonly unknown[]
  const namesAt = async (query: string) =>
    (await admin.list(`/v3/projects?name__endswith=tagged&${query}`)).map(({ name }) => name)

  await admin.expect(201, 'PUT', `/v3/projects/${id}/tags/c%20d`)
  expect(await tags()).toEqual(['a', 'b', 'c d'])
  await admin.expect(204, 'GET', `/v3/projects/${id}/tags/a`)
  await admin.expect(404, 'GET', `/v3/projects/${id}/tags/z`)
  expect(await namesAt('tags=a,b')).toEqual(['tagged'])
  expect(await namesAt('tags=a,z')).toEqual([])
  expect(await namesAt('tags-any=a,z')).toEqual(['tagged'])
  expect((await namesAt('not-tags=a,z')).toSorted()).toEqual(['tagged', 'untagged'])
  expect(await namesAt('not-tags-any=a,z')).toEqual(['untagged'])
  await admin.expect(204, 'DELETE', `/v3/projects/${id}/tags/a`)
  await admin.expect(404, 'DELETE', `/v3/projects/${id}/tags/a`)
  await admin.expect(400, 'PUT', `/v3/projects/${id}/tags`, { tags: ['x,y'] })
  await admin.expect(200, 'PUT', `/v3/projects/${id}/tags`, { tags: ['x'] })
  expect(await tags()).toEqual(['x'])
  await admin.expect(204, 'DELETE', `/v3/projects/${id}/tags`)
  expect(await tags()).toEqual([])
  for (const each of [id, other.id]) await admin.expect(204, 'DELETE', `/v3/projects/${each}`)
})

test('lists are filtered by parts of names as they are, and paged', async () => {
  for (const name of ['page-1', 'page-2', 'page-3', 'PAGE%4'])
    await admin.create('projects', { name })
  const at = async (query: string) =>
    (await admin.list(`/v3/projects?${query}`)).map(({ name }) => name).toSorted()

  expect(await at('name__contains=page-')).toEqual(['page-1', 'page-2', 'page-3'])
  expect(await at('name__icontains=page')).toHaveLength(4)
  expect(await at('name__contains=%25')).toEqual(['PAGE%4'])
  expect(await at('name__startswith=PAGE')).toEqual(['PAGE%4'])
  expect(await at('name__iendswith=E%254')).toEqual(['PAGE%4'])
  expect(await at('name=page')).toEqual([])

  const seen: string[] = []
  let path: string | null = '/v3/projects?name__icontains=page&limit=3'
  while (path !== null) {
    const { body } = await admin.send('GET', path)
    seen.push(...(body['projects'] as unknown as { name: string }[]).map(({ name }) => name))
    const next = body['links']?.['next'] as unknown as string | null
    path = next === null ? null : next.slice('http://cloud.test:8774/identity'.length)
  }
  expect(seen.toSorted()).toEqual(['PAGE%4', 'page-1', 'page-2', 'page-3'])
  await admin.expect(400, 'GET', '/v3/projects?limit=0')
})

test('domains are listed as projects on request', async () => {
  expect(await admin.list('/v3/projects?is_domain=true')).toMatchObject([
    { id: 'default', is_domain: true, domain_id: null, parent_id: null },
  ])
  expect(await admin.show('projects', 'default')).toMatchObject({ is_domain: true })
})

test('a domain is made, changed and deleted as a project that acts as one', async () => {
  const make = { name: 'acting', is_domain: true }
  const domain = await admin.create('projects', make)
  expect(domain).toMatchObject({ is_domain: true, domain_id: null, parent_id: null })
  const id = String(domain['id'])
  expect(await admin.show('domains', id)).toMatchObject({ name: 'acting', enabled: true })
  await admin.expect(409, 'POST', '/v3/projects', { project: make })
  const none = { name: 'in no domain', is_domain: true, domain_id: null, parent_id: null }
  expect(await admin.create('projects', none)).toMatchObject({ domain_id: null, parent_id: null })
  for (const more of [
    { domain_id: 'default' },
    { parent_id: 'default' },
    { tags: ['x'] },
    { x: 1 },
  ])
    await admin.expect(400, 'POST', '/v3/projects', { project: { ...make, name: 'y', ...more } })

  const inside = await admin.create('projects', { name: 'inside', domain_id: id })
  expect(inside).toMatchObject({ domain_id: id, is_domain: false })
  // A role of one domain may be given on another, but not on a project there.
  const role = await admin.create('roles', { name: 'local', domain_id: 'default' })
  const user = await admin.create('users', { name: 'roleholder' })
  const given = `users/${String(user['id'])}/roles/${String(role['id'])}`
  await admin.expect(204, 'PUT', `/v3/domains/${id}/${given}`)
  await admin.expect(403, 'PUT', `/v3/projects/${String(inside['id'])}/${given}`)

  await admin.expect(403, 'DELETE', `/v3/projects/${id}`)
  await admin.expect(200, 'PATCH', `/v3/projects/${id}`, { project: { enabled: false } })
  await admin.expect(204, 'DELETE', `/v3/projects/${id}`)
  await admin.expect(404, 'GET', `/v3/domains/${id}`)
})

test('no token is valid for a disabled or deleted project, and a default project may end', async () => {
  const project = await admin.create('projects', { name: 'ending' })
  const user = await admin.create('users', {
    name: 'resident',
    password: PASSWORD,
    default_project_id: project.id,
  })
  const [member] = await admin.list('/v3/roles?name=member')
  await admin.expect(204, 'PUT', `/v3/projects/${project.id}/users/${user.id}/roles/${member?.id}`)
  const resident = await clientOf(admin.http, user.id, PASSWORD)
  expect(await resident.list('/v3/auth/projects', 'projects')).toMatchObject([{ id: project.id }])

  await admin.update('projects', project.id, { enabled: false })
  await resident.expect(401, 'GET', '/v3/auth/projects')
  await admin.update('projects', project.id, { enabled: true })
  await resident.expect(401, 'GET', '/v3/auth/projects')

  await admin.expect(204, 'DELETE', `/v3/projects/${project.id}`)
  expect(await admin.show('users', user.id)).toMatchObject({ default_project_id: null })
  const unscoped = await clientOf(admin.http, user.id, PASSWORD)
  expect(await unscoped.list('/v3/auth/projects', 'projects')).toEqual([])
})
