import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { activeServer, SERVERS } from '#test/env/api/servers.ts'
import { Browser, whyNoBrowser } from '#test/env/browser.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type Horizon, startHorizon, whyNoHorizon } from '#test/env/horizon.ts'
import { reportOvn } from '#test/env/network-objects.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: people who know Horizon find their daily pages at work on Weir. Its pages say their own errors, in messages.

const why = whyNoBrowser() ?? whyNoHorizon()
const LIMIT_MS = 60_000

const USER_PAGES = {
  '/project/': 'Overview',
  '/project/api_access/': 'API Access',
  '/project/instances/': 'Instances',
  '/project/images/': 'Images',
  '/project/key_pairs/': 'Key Pairs',
  '/project/server_groups/': 'Server Groups',
  '/project/volumes/': 'Volumes',
  '/project/snapshots/': 'Volume Snapshots',
  '/project/networks/': 'Networks',
  '/project/routers/': 'Routers',
  '/project/security_groups/': 'Security Groups',
  '/project/floating_ips/': 'Floating IPs',
  '/project/network_topology/': 'Network Topology',
  '/identity/': 'Projects',
  '/identity/application_credentials/': 'Application Credentials',
} as const
const ADMIN_PAGES = {
  '/admin/': 'Overview',
  '/admin/hypervisors/': 'All Hypervisors',
  '/admin/aggregates/': 'Host Aggregates',
  '/admin/instances/': 'Instances',
  '/admin/flavors/': 'Flavors',
  '/admin/images/': 'Images',
  '/admin/volumes/': 'Volumes',
  '/admin/volume_types/': 'Volume Types',
  '/admin/networks/': 'Networks',
  '/admin/routers/': 'Routers',
  '/admin/floating_ips/': 'Floating IPs',
  '/admin/rbac_policies/': 'RBAC Policies',
  '/admin/defaults/': 'Defaults',
  '/admin/metadata_defs/': 'Metadata Definitions',
  '/admin/info/': 'System Information',
  '/identity/': 'Projects',
  '/identity/users/': 'Users',
  '/identity/groups/': 'Groups',
  '/identity/roles/': 'Roles',
} as const

describe.skipIf(why !== undefined || !isFullRun)(`Horizon (${why ?? 'installed'})`, () => {
  const owned = new AsyncDisposableStack()
  let cloud: Cloud
  let horizon: Horizon
  let browser: Browser
  let demo: ApiClient

  beforeAll(async () => {
    cloud = owned.use(await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 }))
    demo = cloud.as('demo')
    horizon = owned.use(await startHorizon(`${cloud.endpoints[0]}/identity/v3`))
    browser = owned.use(await Browser.start())
    await storesReported(cloud)
    await activeServer(cloud, demo, { name: 'present' })
    await provideRouting()
    await signIn('demo')
  }, 300_000)

  afterAll(() => owned.disposeAsync())

  /** Afterwards the gateways know an engine that routes, and there is a network with addresses for floating IPs. */
  async function provideRouting(): Promise<void> {
    await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
    await reportOvn(db)
    const admin = cloud.as('admin')
    const provider = { 'provider:network_type': 'flat', 'provider:physical_network': 'physnet1' }
    const network = { name: 'public', 'router:external': true, ...provider }
    const made = await admin.post<Loose>('/networking/v2.0/networks', { network })
    const { id } = made.body['network'] as { id: string }
    const range = { ip_version: 4, cidr: '203.0.113.0/24', enable_dhcp: false }
    const subnet = { network_id: id, name: 'public-4', ...range }
    expect((await admin.post('/networking/v2.0/subnets', { subnet })).status).toBe(201)
  }

  async function keep(name: string): Promise<void> {
    const folder = process.env['WEIR_TEST_PICTURES']
    if (folder !== undefined)
      await writeFile(join(folder, `${name}.png`), await browser.screenshot())
  }

  /** What the page says went wrong. */
  const errors = () =>
    browser.value(
      `[...document.querySelectorAll('.alert-danger, .alert-warning, .toast-error')].map((each) => each.textContent.replaceAll(/\\s+/g, ' ').trim()).filter((text) => !text.includes('{{'))`,
    ) as Promise<readonly string[]>

  const isShown = (text: string) =>
    `document.readyState === 'complete' && document.body.innerText.includes(${JSON.stringify(text)})`

  async function open(path: string, heading: string): Promise<void> {
    await browser.open(`${horizon.url}${path}`)
    await browser.until(
      `${path}: ${heading}`,
      `document.readyState === 'complete' && document.querySelector('h1, .detail-header .h1')?.textContent.trim().startsWith(${JSON.stringify(heading)}) === true`,
    )
  }

  const fill = (selector: string, value: string) =>
    browser.value(`(() => {
      const field = document.querySelector(${JSON.stringify(selector)})
      field.value = ${JSON.stringify(value)}
      for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }))
    })()`)

  async function signIn(who: 'admin' | 'demo'): Promise<void> {
    const { user, password } = cloud.foundation.accounts[who]
    await browser.open(`${horizon.url}/auth/logout/`)
    await browser.until('the form', `document.querySelector('#id_username') !== null`)
    await fill('#id_username', user)
    await fill('#id_password', password)
    await browser.value(`document.querySelector('#loginBtn').click()`)
    await browser.until(
      'the overview',
      `document.querySelector('h1')?.textContent.trim() === 'Overview'`,
    )
  }

  /** Fills in the form of a page of its own, and sends it; the page that follows says that it worked. */
  async function send(path: string, fields: Readonly<Record<string, string>>): Promise<void> {
    await browser.open(`${horizon.url}${path}`)
    const form = `[...document.querySelectorAll('form')].find((form) => form.action.includes(${JSON.stringify(path)}))`
    await browser.until(
      `the form of ${path}`,
      `document.readyState === 'complete' && ${form} !== undefined`,
    )
    await browser.value(`(() => {
      const form = ${form}
      for (const [name, value] of Object.entries(${JSON.stringify(fields)})) form.querySelector('[name="' + name + '"]').value = value
      form.submit()
    })()`)
    await browser.until(
      `the end of ${path}`,
      `document.readyState === 'complete' && !location.pathname.startsWith(${JSON.stringify(path)})`,
    )
    expect(await errors(), path).toEqual([])
  }

  /** Each page is there, and says of nothing that it could not be had. */
  async function walk(pages: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, heading] of Object.entries(pages)) {
      await open(path, heading)
      await browser.until(
        `${path} to be loaded`,
        `document.querySelector('.spinner, .progress-bar-striped') === null`,
      )
      expect(await errors(), path).toEqual([])
      await keep(`horizon${path.replaceAll('/', '-')}`)
    }
  }

  test('a user walks the pages of a project', async () => {
    await walk(USER_PAGES)
  })

  test('a user makes networks, routers, floating IPs, security groups and volumes', async () => {
    await send('/project/networks/create', {
      ...{ net_name: 'inner', subnet_name: 'inner-4', cidr: '10.77.0.0/24' },
    })
    await open('/project/networks/', 'Networks')
    await browser.until('inner', isShown('inner'))
    const networks = await demo.get<Loose>('/networking/v2.0/networks?name=public')
    const [{ id: external }] = networks.body['networks'] as readonly [{ readonly id: string }]
    await send('/project/routers/create/', { name: 'edge', external_network: external })
    await send('/project/floating_ips/allocate/', { pool: external })
    await send('/project/security_groups/create/', { name: 'web' })
    await send('/project/volumes/create/', { name: 'data', size: '1' })
    const made = async (path: string, kind: string) => {
      const { body } = await demo.get<Loose>(path)
      return (body[kind] as readonly { readonly name: string }[]).map(({ name }) => name)
    }
    expect(await made('/networking/v2.0/routers', 'routers')).toEqual(['edge'])
    expect(await made('/networking/v2.0/security-groups', 'security_groups')).toContain('web')
    expect(await made('/volume/v3/volumes', 'volumes')).toEqual(['data'])
    const { body } = await demo.get<Loose>('/networking/v2.0/floatingips')
    expect(body['floatingips']).toHaveLength(1)
  })

  test('a user launches an instance in the wizard, and looks at it', async () => {
    await open('/project/instances/', 'Instances')
    await browser.value(`document.querySelector('#instances__action_launch-ng').click()`)
    await browser.until(
      'the wizard',
      `document.querySelector('.modal-dialog wizard input[name=name]') !== null`,
    )
    await fill('.modal-dialog input[name=name]', 'launched')
    for (const step of ['Source', 'Flavor', 'Networks']) await choose(step)
    await keep('horizon-wizard')
    await browser.value(`document.querySelector('.modal-dialog button.finish').click()`)
    const id = await waitFor(
      'the instance',
      async () => {
        const { body } = await demo.get<Loose>(`${SERVERS}/detail?name=launched&status=ACTIVE`)
        return (body['servers'] as readonly { readonly id: string }[])[0]?.id
      },
      LIMIT_MS,
    )
    for (const tab of ['overview', 'interfaces', 'log', 'audit']) {
      await open(`/project/instances/${id}/?tab=instance_details__${tab}`, 'launched')
      expect(await errors(), tab).toEqual([])
    }
    await keep('horizon-instance')
  })

  /** Takes the first thing that a step of the wizard offers, unless it has taken the only one by itself. */
  async function choose(step: string): Promise<void> {
    const link = `[...document.querySelectorAll('.wizard-nav a, .step a')].find((a) => a.textContent.trim().startsWith(${JSON.stringify(step)}))`
    await browser.until(step, `${link} !== undefined`)
    await browser.value(`${link}.click()`)
    const buttonIn = (table: string) =>
      `[...document.querySelectorAll('.modal-dialog .step:not(.ng-hide) ${table} tbody tr button')].find((each) => each.checkVisibility() && !each.disabled)`
    const [free, taken] = ['.transfer-available', '.transfer-allocated'].map(buttonIn)
    await browser.until(`a choice of ${step}`, `(${taken} ?? ${free}) !== undefined`)
    await browser.value(`if (${taken} === undefined) ${free}.click()`)
  }

  test('an administrator walks the pages of the cloud, and makes a project and a user', async () => {
    await signIn('admin')
    await walk(ADMIN_PAGES)
    for (const tab of ['services', 'nova_services', 'cinder_services', 'network_agents']) {
      await open(`/admin/info/?tab=system_info__${tab}`, 'System Information')
      expect(await errors(), tab).toEqual([])
    }
    await send('/admin/aggregates/create/', { name: 'racks', availability_zone: 'east' })
    await send('/identity/create', { name: 'made' })
    await send('/identity/users/create/', {
      ...{ name: 'maria', password: 'correct-horse', confirm_password: 'correct-horse' },
    })
    const { body } = await cloud.as('admin').get<Loose>('/identity/v3/users?name=maria')
    expect(body['users']).toHaveLength(1)
  })
})
