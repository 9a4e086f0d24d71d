import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { callApi } from '#deploy/api/session.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { openstackAccount } from './openstack-account.ts'

const STATE_MS = 120_000
const account = isFullRun ? openstackAccount() : undefined
const why = account === undefined ? ' (skipped: WEIR_TEST_OPENSTACK names no OpenStack)' : ''

describe.skipIf(account === undefined)(`a cell that is a project of an OpenStack${why}`, () => {
  let directory: string
  let checkout: Checkout
  const joinAs = (name: string, cloud: string, ...more: readonly string[]) =>
    checkout.weir('cell', 'join', name, '--driver', 'nested', '--cloud', cloud, ...more)
  const settings = ['projects=any', 'networks=127.0.0.0/8', 'allow_http=true'].flatMap((each) => [
    '--set',
    each,
  ])
  const find = async (name: string) =>
    (await checkout.servers()).find((server) => server.name === name)

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'weir-clouds-'))
    const file = join(directory, 'clouds.yaml')
    const { auth_url, user: username, password, project: project_name } = account!
    const domains = { user_domain_name: 'Default', project_domain_name: 'Default' }
    const auth = { auth_url, username, password, project_name, ...domains }
    const clouds = { lab: { auth }, stranger: { auth: { ...auth, password: 'wrong' } } }
    writeFileSync(file, stringify({ clouds }))
    checkout = new Checkout(['env', `OS_CLIENT_CONFIG_FILE=${file}`])
    const port = String(await freePort())
    await checkout.succeed('up', '--driver', 'fake', '--cells', '1', '--port', port)
  }, 300_000)
  afterAll(async () => {
    await checkout?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  }, 60_000)

  test('is refused, and nothing made, while it cannot be one', async () => {
    for (const [cloud, set, message] of [
      ['stranger', settings, 'refuses the credential'],
      ['weir', settings, 'clouds form a ring'],
      ['lab', ['--set', 'projects=any'], 'allow_http'],
    ] as const)
      expect(await joinAs('lab', cloud, ...set)).toMatchObject({
        code: expect.toSatisfy((code) => code !== 0),
        stdout: expect.stringContaining(message),
      })
    expect(await checkout.succeed('cell', 'list', '-o', 'name')).not.toContain('lab')
  })

  test('joins while all else runs, takes servers and gives them back', async () => {
    const before = await checkout.processes()
    const joined = await joinAs('lab', 'lab', ...settings, '--set', 'hypervisor_type=fake')
    expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining('takes servers') })
    expect(await checkout.processes()).toEqual(
      new Map([...(await checkout.processes()), ...before]),
    )

    const verified = await checkout.succeed('cell', 'verify', 'lab', '--boot')
    expect(verified).toMatch(/ok +boot[^]*ok +delete/)
    const demo = await checkout.signIn('weir')
    const get = <Answer>(path: string) => callApi<Answer>(demo, { method: 'GET', path })
    const post = <Answer>(path: string, body: object) =>
      callApi<Answer>(demo, { method: 'POST', path, body })
    type Named = readonly { readonly id: string; readonly name: string }[]
    const { flavors } = await get<{ flavors: Named }>('/compute/v2.1/flavors')
    const { images } = await get<{ images: Named }>('/image/v2/images')
    const { networks } = await get<{ networks: Named }>('/networking/v2.0/networks')
    const flavorRef = flavors.find(({ name }) => name === 'm1.tiny')!.id
    const imageRef = images.find(({ name }) => name === 'tiny')!.id
    const uuid = networks.find(({ name }) => name === 'private')!.id
    const server = {
      ...{ name: 'through', flavorRef, imageRef, networks: [{ uuid }] },
      availability_zone: 'lab',
    }
    const path = '/compute/v2.1/servers'
    const made = await post<{ server: { id: string } }>(path, { server })
    const own = `${path}/${made.server.id}`
    const rests = (status: string) =>
      expect
        .poll(() => stateOf(() => get(own)), { timeout: STATE_MS })
        .toBe(`${status}, doing nothing`)
    await rests('ACTIVE')

    for (const [act, status] of acts(imageRef, await smallerFlavor(checkout))) {
      await post(`${own}/action`, act)
      await rests(status)
    }
    expect(await post(`${own}/action`, { 'os-getConsoleOutput': {} })).toMatchObject({
      output: expect.any(String),
    })
    const attached = { interfaceAttachment: { net_id: uuid } }
    const { interfaceAttachment } = await post<{ interfaceAttachment: { port_id: string } }>(
      `${own}/os-interface`,
      attached,
    )
    const interfaces = async () => (await find('through'))?.addresses['private']?.length
    await expect.poll(interfaces, { timeout: STATE_MS }).toBe(2)
    await callApi(demo, {
      method: 'DELETE',
      path: `${own}/os-interface/${interfaceAttachment.port_id}`,
    })
    await expect.poll(interfaces, { timeout: STATE_MS }).toBe(1)

    await callApi(demo, { method: 'DELETE', path: own })
    await expect.poll(() => find('through'), { timeout: STATE_MS }).toBeUndefined()
  }, 600_000)
})

/** Acts in an order in which each may follow the one before, and the status that the server comes to rest in. */
function acts(imageRef: string, flavorRef: string): readonly (readonly [object, string])[] {
  return [
    [{ 'os-stop': null }, 'SHUTOFF'],
    [{ 'os-start': null }, 'ACTIVE'],
    [{ reboot: { type: 'SOFT' } }, 'ACTIVE'],
    [{ reboot: { type: 'HARD' } }, 'ACTIVE'],
    [{ pause: null }, 'PAUSED'],
    [{ unpause: null }, 'ACTIVE'],
    [{ suspend: null }, 'SUSPENDED'],
    [{ resume: null }, 'ACTIVE'],
    [{ resize: { flavorRef } }, 'VERIFY_RESIZE'],
    [{ revertResize: null }, 'ACTIVE'],
    [{ resize: { flavorRef } }, 'VERIFY_RESIZE'],
    [{ confirmResize: null }, 'ACTIVE'],
    [{ rebuild: { imageRef } }, 'ACTIVE'],
    // A hypervisor that is simulated makes no image; the server must not wait for it.
    [{ createImage: { name: 'of-through' } }, 'ACTIVE'],
    [{ rescue: {} }, 'RESCUE'],
    [{ unrescue: null }, 'ACTIVE'],
  ]
}

interface Shown {
  readonly server: { readonly status: string; readonly 'OS-EXT-STS:task_state': string | null }
}

async function stateOf(show: () => Promise<Shown>): Promise<string> {
  const { server } = await show()
  return `${server.status}, doing ${server['OS-EXT-STS:task_state'] ?? 'nothing'}`
}

/** Of a size that the OpenStack has a flavor of. */
async function smallerFlavor(checkout: Checkout): Promise<string> {
  const admin = await checkout.signIn('weir-admin')
  const flavor = { name: 'm1.nano', vcpus: 1, ram: 64, disk: 1 }
  const { flavor: made } = await callApi<{ flavor: { id: string } }>(admin, {
    method: 'POST',
    path: '/compute/v2.1/flavors',
    body: { flavor },
  })
  return made.id
}
