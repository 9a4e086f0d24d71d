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
    for (const [cloud, set, said] of [
      ['stranger', settings, 'refuses the credential'],
      ['weir', settings, 'clouds form a ring'],
      ['lab', ['--set', 'projects=any'], 'allow_http'],
    ] as const)
      expect(await joinAs('lab', cloud, ...set)).toMatchObject({
        code: expect.toSatisfy((code) => code !== 0),
        stdout: expect.stringContaining(said),
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

    const demo = await checkout.signIn('weir')
    const get = <Answer>(path: string) => callApi<Answer>(demo, { method: 'GET', path })
    type Named = readonly { readonly id: string; readonly name: string }[]
    const { flavors } = await get<{ flavors: Named }>('/compute/v2.1/flavors')
    const { images } = await get<{ images: Named }>('/image/v2/images')
    const { networks } = await get<{ networks: Named }>('/networking/v2.0/networks')
    const server = {
      name: 'through',
      flavorRef: flavors.find(({ name }) => name === 'm1.tiny')!.id,
      imageRef: images.find(({ name }) => name === 'tiny')!.id,
      networks: [{ uuid: networks.find(({ name }) => name === 'private')!.id }],
      availability_zone: 'lab',
    }
    const path = '/compute/v2.1/servers'
    const made = await callApi<{ server: { id: string } }>(demo, {
      method: 'POST',
      path,
      body: { server },
    })
    await expect
      .poll(async () => (await find('through'))?.status, { timeout: STATE_MS })
      .toBe('ACTIVE')

    await callApi(demo, { method: 'DELETE', path: `${path}/${made.server.id}` })
    await expect.poll(() => find('through'), { timeout: STATE_MS }).toBeUndefined()
  }, 300_000)
})
