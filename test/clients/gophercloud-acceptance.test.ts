import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { compiledDirectory } from '#deploy/paths.ts'
import { clientSettings, runClient, type Settings, whyNoClient } from '#test/env/client-program.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { offerRouting } from '#test/env/network-objects.ts'

const GO = '/usr/bin/go'
const SOURCES = '/usr/share/gocode'
const PACKAGES = 'github.com/gophercloud/gophercloud/acceptance/openstack'
const BUILD_LIMIT_MS = 400_000
const RUN_LIMIT_MS = 600_000
const OUTPUT_MAX_BYTES = 64 * 2 ** 20

/** The tests look once a second for REBOOT and REBUILD, which a simulated host would be through with by then. */
const SEEN_UNDER_WAY = ['reboot', 'rebuild'].map((method) => ({
  method,
  effect: { do: 'slow', ms: 3_000 },
}))

/** Each of a test that this cloud has no answer for, and why. */
type Expected = Readonly<Record<string, string>>

const ELSEWHERE = 'it needs a router, and runs with one below'

const COMPUTE: Expected = {
  TestBootFromMultiEphemeralServer: 'disks that the host formats (guest_format) are refused',
  TestFloatingIPsCreateDelete: ELSEWHERE,
  TestFloatingIPsAssociate: ELSEWHERE,
  TestFloatingIPsFixedIPAssociate: ELSEWHERE,
}

const IDENTITY: Expected = {
  TestOAuth1CRUD: 'OAuth 1.0 is not served, as by a Keystone without its method oauth1',
}

const IMAGE: Expected = {
  TestImageStage: 'it fetches its image from the Internet',
  TestTaskCreate:
    'tasks are made by imports only; POST /v2/tasks, which Glance leaves to administrators, is not served',
}

const BINDINGS: Expected = {
  TestPortsbindingCRUD: 'it sets a profile, which is refused: no cell would do anything with it',
}

const ROUTERS: Expected = {
  TestAddressScopesCRUD: 'address scopes are refused, because routers would ignore them',
  TestLayer3ExternalRouterCreateDelete: 'it expects a new address of a router to stay empty',
}

const DNS: Expected = {
  TestDNSFloatingIPCRDL: 'names of floating IPs are for a DNS service outside, which there is not',
}

const BY_COMPUTE = 'the Compute API attaches volumes to servers'

const VOLUMES: Expected = {
  TestVolumeAttachments: BY_COMPUTE,
  TestVolumesMultiAttach: 'it asks for multiattach without a type, which Cinder refuses now',
}

const VOLUME_EXTENSIONS: Expected = {
  TestBackupsCRUD: 'there is no backup service',
  TestVolumeActionsAttachCreateDestroy: BY_COMPUTE,
  TestVolumeActionsReserveUnreserve: BY_COMPUTE,
}

const NONE: Expected = {}

const why = whyNoClient('golang-go', GO) ?? whyNoClient('golang-github-gophercloud-gophercloud-dev')

describe.skipIf(!isFullRun || why !== undefined)(
  `gophercloud's own tests (${why ?? 'installed'})`,
  () => {
    test.each<[string, string, Expected, string?]>([
      ['compute', 'compute/v2', COMPUTE],
      ['floating IPs by compute', 'compute/v2', NONE, 'FloatingIP'],
      ['identity', 'identity/v3', IDENTITY],
      ['image', 'imageservice/v2', IMAGE],
      ['networks', 'networking/v2', NONE],
      ['extensions', 'networking/v2/extensions', NONE],
      ['routers', 'networking/v2/extensions/layer3', ROUTERS],
      ['subnet pools', 'networking/v2/extensions/subnetpools', NONE],
      ['DNS names', 'networking/v2/extensions/dns', DNS],
      ['MTUs', 'networking/v2/extensions/mtu', NONE],
      ['quotas', 'networking/v2/extensions/quotas', NONE],
      ['RBAC policies', 'networking/v2/extensions/rbacpolicies', NONE],
      ['bindings of ports', 'networking/v2/extensions/portsbinding', BINDINGS],
      ['counts of addresses', 'networking/v2/extensions/networkipavailabilities', NONE],
      ['versions of volumes', 'blockstorage', NONE],
      ['volumes', 'blockstorage/v3', VOLUMES],
      ['volumes of former clients', 'blockstorage/v2', NONE],
      ['extensions of volumes', 'blockstorage/extensions', VOLUME_EXTENSIONS],
    ])(
      'of %s pass, but for those with a reason',
      { timeout: BUILD_LIMIT_MS + 2 * RUN_LIMIT_MS },
      async (name, path, expected, only) => {
        await using cloud = await startCloud({
          gateways: 1,
          cells: 1,
          processesPerCell: 1,
          cell: { CELL_ZONE: 'nova' },
          driver: { faults: JSON.stringify(SEEN_UNDER_WAY) },
        })
        // The host that offers routers is of a cell that is not there: its service cannot be changed.
        const external = name === 'compute' ? 'none' : await offerRouting(cloud)
        if (only !== undefined) await routeOutside(cloud, external)
        await nameVersionTwo(cloud)
        const program = join(cloud.foundation.directory, 'acceptance.test')
        const settings = {
          ...settingsFor(cloud, external),
          ...(path === 'blockstorage/v3' && (await namedById(cloud))),
        }
        const build = ['test', '-c', '-tags', 'acceptance', '-o', program, `${PACKAGES}/${path}`]
        await runClient(GO, build, settings, BUILD_LIMIT_MS)

        const all = (await runClient(program, ['-test.list', only ?? '.'], settings))
          .trim()
          .split('\n')
        const output = await outputOf(program, settings, only)
        const outcomes = outcomesIn(output)
        const unexpected = all.filter(
          (each) => !['PASS', 'SKIP'].includes(outcomes.get(each) ?? '') && !(each in expected),
        )
        const cured = Object.keys(expected).filter((each) => outcomes.get(each) !== 'FAIL')

        expect({ unexpected, cured, said: unexpected.length > 0 ? output : '' }).toEqual({
          unexpected: [],
          cured: [],
          said: '',
        })
      },
    )
  },
)

/**
 * Afterwards the catalog has the Block Storage API also as that of version 2, whose paths and bodies version 3 has kept: half
 * of the tests of volumes ask for it.
 */
async function nameVersionTwo(cloud: Cloud): Promise<void> {
  const admin = cloud.as('admin')
  const identity = '/identity/v3'
  const { body } = await admin.post<{ service: { id: string } }>(`${identity}/services`, {
    service: { type: 'volumev2', name: 'cinderv2' },
  })
  const url = `${cloud.endpoints[0]}/volume/v3/$(project_id)s`
  const endpoint = { service_id: body.service.id, interface: 'public', region: 'RegionOne', url }
  expect((await admin.post(`${identity}/endpoints`, { endpoint })).status).toBe(201)
}

/** Afterwards the administrator's project is called as its id: the tests of quotas ask for those of the project's name. */
async function namedById(cloud: Cloud): Promise<Settings> {
  const admin = cloud.as('admin')
  const projects = '/identity/v3/projects'
  const { project } = cloud.foundation.accounts.admin
  const { body } = await admin.get<{ projects: readonly { id: string }[] }>(
    `${projects}?name=${project}`,
  )
  const id = body.projects[0]!.id
  const named = { project: { name: id } }
  expect((await admin.call('PATCH', `${projects}/${id}`, named)).status).toBe(200)
  return { OS_PROJECT_NAME: id }
}

/** Afterwards a router joins the servers' network to the external one, as floating IPs need. */
async function routeOutside(cloud: Cloud, external: string): Promise<void> {
  const admin = cloud.as('admin')
  const routers = '/networking/v2.0/routers'
  const { body } = await admin.post<{ router: { id: string } }>(routers, {
    router: { external_gateway_info: { network_id: external } },
  })
  const subnets = await admin.get<{ subnets: readonly { id: string }[] }>(
    `/networking/v2.0/subnets?network_id=${cloud.catalog.network}`,
  )
  for (const { id } of subnets.body.subnets)
    await admin.put(`${routers}/${body.router.id}/add_router_interface`, { subnet_id: id })
}

function settingsFor({ endpoints, foundation, catalog }: Cloud, external: string): Settings {
  return {
    ...clientSettings(`${endpoints[0]}/identity/v3`, foundation.accounts.admin),
    GOPATH: SOURCES,
    GO111MODULE: 'off',
    GOCACHE: compiledDirectory,
    OS_DOMAIN_ID: 'default',
    OS_IMAGE_ID: catalog.image,
    OS_FLAVOR_ID: catalog.tiny,
    OS_FLAVOR_ID_RESIZE: catalog.small,
    OS_NETWORK_ID: catalog.network,
    // Those that the project itself leaves out everywhere need the identity API 2.0, which is no more.
    OS_BRANCH: 'master',
    // Asked for by all tests, and used by those of floating IPs and routers only.
    OS_POOL_NAME: 'public',
    OS_EXTGW_ID: external,
  }
}

/** All that the tests print; they end as failed when one fails. */
async function outputOf(program: string, env: Settings, only = '.'): Promise<string> {
  const options = { env, maxBuffer: OUTPUT_MAX_BYTES }
  const run = promisify(execFile)(
    program,
    ['-test.v', '-test.run', only, `-test.timeout=${RUN_LIMIT_MS / 1_000}s`],
    options,
  )
  return run.then(
    ({ stdout, stderr }) => stdout + stderr,
    ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => stdout + stderr,
  )
}

/** By the test's name: PASS, FAIL or SKIP. One that a panic kept from running has none. */
function outcomesIn(output: string): ReadonlyMap<string, string> {
  const lines = output.matchAll(/^--- (PASS|FAIL|SKIP): (\w+) /gm)
  return new Map(Array.from(lines, ([, outcome = '', name = '']) => [name, outcome]))
}
