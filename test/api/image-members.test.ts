import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ImageApi, imageApi } from './image-api.ts'
import { listOf } from './json.ts'

let api: ImageApi

beforeAll(async () => {
  api = await imageApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

test('an image is offered to a project, accepted, rejected and taken back', async () => {
  const id = await api.active(api.admin, Buffer.from('shared'))
  const members = `/images/${id}/members`
  const mine = `${members}/${api.demoProject}`
  const foundBy = (query: string) => api.listed(api.demo, `id=${id}&${query}`)
  const answered = async (method: string, path: string, body?: object) =>
    (await api.ask(api.demo, method, path, body)).status

  expect(await answered('GET', `/images/${id}`)).toBe(404)
  expect(await answered('GET', mine)).toBe(404)
  const added = await api.ask(api.admin, 'POST', members, { member: api.demoProject })
  expect(added.status).toBe(200)
  expect(added.body).toEqual({
    member_id: api.demoProject,
    image_id: id,
    status: 'pending',
    created_at: expect.any(String),
    updated_at: expect.any(String),
    schema: '/v2/schemas/member',
  })
  const twice = await api.ask(api.admin, 'POST', members, { member: api.demoProject })
  expect(twice.status).toBe(409)

  expect(await answered('GET', `/images/${id}`)).toBe(200)
  expect(await (await api.download(api.demo, id)).text()).toBe('shared')
  expect(await foundBy('')).toEqual([])
  expect(await foundBy('member_status=pending')).toEqual([id])
  expect(await foundBy('member_status=all&visibility=shared')).toEqual([id])

  expect(await answered('PUT', mine, { status: 'accepted' })).toBe(200)
  expect(await foundBy('')).toEqual([id])
  expect(await foundBy('member_status=pending')).toEqual([])
  expect(await answered('PUT', mine, { status: 'perhaps' })).toBe(400)
  expect(await answered('PUT', mine, { status: 'rejected' })).toBe(200)
  expect(await foundBy('')).toEqual([])

  // A member sees itself, and changes nothing but its own mind.
  await api.ask(api.admin, 'POST', members, { member: 'another' })
  const seen = await api.ask(api.demo, 'GET', members)
  expect(listOf(seen.body['members']).map((member) => member['member_id'])).toEqual([
    api.demoProject,
  ])
  expect(await answered('GET', `${members}/another`)).toBe(404)
  expect(await answered('PUT', `${members}/another`, { status: 'accepted' })).toBe(403)
  expect(await answered('POST', members, { member: 'third' })).toBe(403)
  expect(await answered('DELETE', `${members}/another`)).toBe(403)
  expect(await answered('PATCH', `/images/${id}`, [])).toBe(403)
  expect(listOf((await api.ask(api.admin, 'GET', members)).body['members'])).toHaveLength(2)

  expect((await api.ask(api.admin, 'DELETE', mine)).status).toBe(204)
  expect((await api.ask(api.admin, 'DELETE', mine)).status).toBe(404)
  expect(await answered('GET', `/images/${id}`)).toBe(404)
})

test('only shared images have members, and a private one hides from those it had', async () => {
  const id = await api.create(api.demo)
  const members = `/images/${id}/members`
  await api.ask(api.demo, 'POST', members, { member: 'another' })
  const change = [{ op: 'replace', path: '/visibility', value: 'community' }]
  await api.ask(api.demo, 'PATCH', `/images/${id}`, change)

  expect((await api.ask(api.demo, 'GET', members)).status).toBe(403)
  expect((await api.ask(api.demo, 'POST', members, { member: 'x' })).status).toBe(403)
  expect((await api.ask(api.demo, 'POST', members, {})).status).toBe(400)
})

test('the owner does not accept for a member', async () => {
  const id = await api.create(api.demo)
  const member = `/images/${id}/members/${api.adminProject}`
  await api.ask(api.demo, 'POST', `/images/${id}/members`, { member: api.adminProject })

  expect((await api.ask(api.demo, 'PUT', member, { status: 'accepted' })).status).toBe(403)
  expect((await api.ask(api.demo, 'GET', member)).body['status']).toBe('pending')
})

test('no more than 128 projects', async () => {
  const id = await api.create(api.demo)
  const add = (member: string) => api.ask(api.demo, 'POST', `/images/${id}/members`, { member })

  const replies = await Promise.all(Array.from({ length: 130 }, (_, i) => add(`project-${i}`)))

  expect(replies.filter(({ status }) => status === 200)).toHaveLength(128)
  expect(replies.filter(({ status }) => status === 413)).toHaveLength(2)
})
