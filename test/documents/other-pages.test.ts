import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { gatewayEnv } from '#test/env/gateway-env.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { whyNoOpenstack } from '#test/env/openstack-cli.ts'
import { ADMIN_PASSWORD, RealKeystone, whyNoKeystone } from '#test/env/real-keystone.ts'
import { startMachine } from '#test/real/machine/simulated-machine.ts'
import { whyNoGuests } from '#test/real/requirements.ts'
import { NETWORKS } from './networks-page.ts'
import { ofLastOperation, pageScript } from './page-script.ts'
import { Machine, Reader } from './reader.ts'

// Goal: the commands of pages that other kinds of readers follow work as they are written.

const PAGE_MS = 1_800_000
const SETTLED_MS = 120_000
const MAC = '52:54:00:12:34:56'

const owned = new AsyncDisposableStack()
afterAll(() => owned.disposeAsync(), PAGE_MS)

let reader: Reader
let machine: Machine

const TUTORIAL = pageScript('docs/tutorial/first-cloud.md', {
  './weir up': { typed: './weir up --driver fake --hosts 1', shows: /Weir is up/ },
  'openstack server list': { shows: /first/ },
  './weir server list': { shows: /second/ },
  './weir why second': { shows: /Attempt 1, hosts in cell/ },
  './weir events -f': { until: /second/ },
  './weir status': { gives: { PID: /^cell-north +up +pid (\d+)/m } },
  // The second time the cell hangs.
  './weir cell list': { codes: [0, 4], shows: /north/ },
})

const KEYSTONE = pageScript('docs/how-to/external-keystone.md', {
  'node gateway/main.ts': {
    typed: '. ./gateway.env; node gateway/main.ts',
    until: /gateway listens/,
  },
  './weir up': { notTyped: 'The page says that it makes no such cloud.' },
})

const BARE_METAL = pageScript('docs/how-to/bare-metal.md', {
  './weir cell join': { notTyped: 'It takes what `./weir host join` takes, which is typed.' },
  './weir up --driver baremetal': {
    typed: './weir up --driver baremetal --cells 1',
    shows: /Server first is ACTIVE/,
    gives: { URL: /Endpoint +(http:\/\/127\.0\.0\.1:\d+)/ },
  },
  './weir host join --gateway URL --token-file FILE --driver baremetal --set boot_url=http://192.0.2.1:8480':
    {
      before: async () => {
        const { said } = await machine.type('./weir cell token create north --host rack')
        const [, token = ''] = /WEIR_JOIN_TOKEN=(\S+)/.exec(said) ?? []
        writeFileSync(join(machine.folder, 'token'), token, { mode: 0o600 })
        reader.learn('FILE', join(machine.folder, 'token'))
      },
      at: 'rack',
      shows: /Host rack of cell north has joined/,
    },
  './weir node add rack1-07 --mac 52:54:00:12:34:56 --bmc 192.0.2.7 --bmc-user weir --efi': {
    // Several hosts have machines.
    typed: `WEIR_BMC_PASSWORD=PASSWORD ./weir node add rack1-07 --mac ${MAC} --bmc 192.0.2.7 --bmc-user weir --efi --host rack`,
  },
  './weir node list --watch': { until: /rack1-07 .*available/ },
  './weir node show rack1-07; ./weir node sensors rack1-07': { shows: /available/ },
  "./weir node maintenance rack1-07 --reason 'a fan'": {
    after: () => machine.type('./weir node maintenance rack1-07 --off'),
  },
  './weir node inspect rack1-07': {
    after: () => machine.type('./weir node list --watch', /rack1-07 .*available/),
  },
  './weir node add rack1-09 --mac 52:54:00:12:34:59 --nic 52:54:00:12:35:59=SITE 52:54:00:12:36:59=SITE:7 --host HOST':
    { notTyped: 'It needs a machine with such NICs, as test/real/baremetal-ovn.test.ts has.' },
  './weir up --driver baremetal --network ovn': {
    typed: './weir up --fresh --driver baremetal --network ovn --cells 1',
    shows: /Server first is ACTIVE/,
  },
  './weir ssh first': { typed: './weir ssh first hostname', shows: /^first/m },
  './weir why': { typed: './weir why first', shows: /north/ },
})

const PLACEMENT_POLICIES = pageScript('docs/how-to/placement-policies.md', {
  './weir cell list -o wide': { shows: / dedicated=research:NoSchedule / },
  './weir policy list': { shows: /^research +project /m },
  './weir why analysis': { shows: /Placement policy research applied/ },
  './weir why --flavor m1.tiny --image tiny --project demo': {
    shows: /Placement policy research applied/,
  },
  './weir why SERVER': { typed: './weir why first', shows: /active in cell \w+ on host/ },
})

const MAINTENANCE = pageScript('docs/how-to/host-maintenance.md', {
  './weir host drain north-1 --dry-run': { shows: /move its servers/ },
  "./weir host drain north-1 --reason 'new disks' --wait": { shows: /STATE +done/ },
  './weir operation list --state running': { shows: /No operations/ },
  ...ofLastOperation(/moved +(live|cold)|host-drain/, 'test/api/drains.test.ts'),
  './weir host evacuate north-2 --yes --wait': {
    before: () => machine.type('./weir host uncordon north-1'),
    shows: /STATE +done/,
  },
  './weir cell drain': { notTyped: 'test/api/command-line.test.ts drains a cell.' },
  './weir up --set CELL_FENCE_DEVICES_FILE=/etc/weir/fence-devices.json': {
    before: async () => writeFileSync(join(machine.folder, 'fence-devices.json'), '{}'),
    typed: './weir up --set CELL_FENCE_DEVICES_FILE=$PWD/fence-devices.json',
    shows: /is up/,
  },
  './weir up --set CELL_FENCE_AFTER_S=60 --set CELL_SELF_FENCING=true': { shows: /is up/ },
  './weir events --type host.state': { shows: /cordoned/ },
  './weir why SERVER': { typed: './weir why first', shows: /active in cell \w+ on host/ },
})

/** For a command that makes a volume or changes it. */
const untilAvailable = (volume: string) => ({
  after: () => settled(`volume show ${volume}`, /status +\| available/),
})

const BETWEEN_CELLS = pageScript('docs/how-to/move-between-cells.md', {
  './weir server move first --cell south --wait': { shows: /STATE +done/ },
  './weir server where first': { shows: /south/ },
  './weir operation list': { shows: /server-move +first/ },
  ...ofLastOperation(/server-move/, 'test/api/server-cell-moves.test.ts'),
  'openstack server unset --pinned-availability-zone': {
    notTyped:
      "Debian's client does not know it; test/api/server-intents.test.ts sends the request.",
  },
  'openstack volume create --size 1 --availability-zone north luggage': untilAvailable('luggage'),
  './weir volume move luggage --cell south --wait': { shows: /STATE +done/ },
  './weir why --volume luggage': { shows: /is available in cell south/ },
  './weir host drain south-1 --to-other-cells --dry-run': { shows: /OTHER CELL/ },
  './weir host drain south-1 --to-other-cells --wait': { shows: /STATE +done/ },
  './weir cell drain north --to-other-cells --wait': {
    before: () => machine.type('./weir host uncordon south-1'),
    shows: /STATE +done/,
  },
  './weir operation cancel FIRST SECOND': {
    notTyped: 'The drains have ended; test/api/drains.test.ts cancels several at once.',
  },
})

const PROTECTION = pageScript('docs/how-to/protect-servers.md', {
  './weir server protect first --every 1h --keep 24': { shows: /EVERY +3600 s/ },
  './weir server protect first --every 1h --keep 24 --to south': { notTyped: 'Has no cache.' },
  './weir server protections': {
    shows: /^first +3600 s +24 /m,
    after: () => settled('image list --private -f value -c Status', /active/),
  },
  'openstack image list --private': { shows: /backup/ },
  'openstack server rebuild first --image "$(openstack image list --private -f value -c ID | tail -1)"':
    { shows: /REBUILD|ACTIVE/, after: () => settled('server show first -c status', /ACTIVE/) },
  'openstack server image create': { notTyped: 'Only named: it is what the page is not about.' },
  'openstack server backup create': { notTyped: 'Only named: it is what the page is not about.' },
  './weir server unprotect first': { shows: /No more backups of first/ },
  './weir cell recover': { notTyped: 'test/documents/operator-pages.test.ts types it.' },
})

/** Asks until the client shows it. */
const settled = (command: string, shows: RegExp) =>
  waitFor(
    command,
    async () => shows.test((await machine.type(`openstack ${command}`)).said),
    SETTLED_MS,
  )

const VOLUMES = pageScript('docs/how-to/volumes.md', {
  'openstack volume create --size 10 --availability-zone north data': untilAvailable('data'),
  'openstack volume list --long': { shows: /\| data +\|/ },
  './weir why --volume data': { shows: /Attempt 1, stores in cell north: .* was chosen/ },
  'openstack volume show data': { shows: /status +\| in-use/ },
  'openstack server remove volume first data': untilAvailable('data'),
  'openstack volume create --size 1 --image tiny source': untilAvailable('source'),
  'openstack image create --volume source --disk-format qcow2 of-source': untilAvailable('source'),
  'openstack volume snapshot create --force --volume data before-upgrade': {
    after: () => settled('volume snapshot show before-upgrade', /status +\| available/),
  },
  'openstack volume create --snapshot before-upgrade restored': untilAvailable('restored'),
  'openstack volume snapshot create --volume root of-root': {
    after: () => settled('volume snapshot show of-root', /status +\| available/),
  },
  'openstack volume create --size 1 --image tiny system': untilAvailable('system'),
  'openstack --os-compute-api-version 2.93 server rebuild --image tiny --wait on-volume': {
    notTyped: "Debian's client ends at 2.92; test/api/volume-backed-acts.test.ts asks for it.",
  },
  'openstack image set --property hw_rescue_device=disk --property hw_rescue_bus=virtio IMAGE': {
    notTyped:
      'The image of this cloud is for all; test/api/volume-backed-acts.test.ts has one of its own.',
  },
  'openstack --os-compute-api-version 2.87 server rescue --image IMAGE SERVER': {
    notTyped: 'test/api/volume-backed-acts.test.ts rescues a server that starts from a volume.',
  },
  'openstack server unrescue SERVER': { notTyped: 'The same.' },
  'openstack volume create --size 1 --type fast quick': untilAvailable('quick'),
  'openstack volume create --size 1 --type sealed secret': untilAvailable('secret'),
  'openstack volume show -c encrypted secret': { shows: /encrypted +\| True/ },
  'openstack volume create --size 1 --type steady ledger': untilAvailable('ledger'),
  'openstack volume set --type closed --retype-policy on-demand ledger': {
    notTyped: 'Each cell has one store; test/api/volume-store-moves.test.ts encrypts a volume.',
  },
  'openstack volume create --size 1 --type shared --availability-zone north common':
    untilAvailable('common'),
  'openstack --os-compute-api-version 2.60 server add volume first common': {
    after: () => settled('volume show common', /status +\| in-use/),
  },
  'openstack volume create --size 1 present': untilAvailable('present'),
  'openstack volume transfer request create --name gift present': {
    gives: { KEY: /auth_key +\| (\w+)/, TRANSFER: /\| id +\| (\S+)/ },
  },
  'openstack volume transfer request list': { shows: /gift/ },
  'openstack --os-volume-api-version 3.42 volume set --size 20 data': {
    after: () => settled('volume show data', /size +\| 20 /),
  },
  './weir volume move data --store fast --wait': {
    notTyped: 'Each cell has one store; test/api/volume-store-moves.test.ts moves a volume.',
  },
  'openstack volume migrate --host CELL@STORE VOLUME': {
    notTyped: 'The same; so does test/api/volume-store-moves.test.ts.',
  },
  './weir operation cancel OPERATION': {
    notTyped: 'The same; test/api/volume-store-moves.test.ts cancels a move.',
  },
  'openstack server event list SERVER': { notTyped: 'No store of this cloud is full.' },
  './weir events --server SERVER': { notTyped: 'No store of this cloud is full.' },
})

// Its one command is a test.
pageScript('docs/how-to/ironic.md')
// It has no command; test/clients/ui.test.ts opens the page in a browser.
pageScript('docs/how-to/ui.md')

const noClient = isFullRun ? whyNoOpenstack() : 'only with --all'
const noKeystone = noClient ?? (isFullRun ? whyNoKeystone() : undefined)
const PROGRAMS = ['ipmi_sim', 'ipmitool', 'qemu-system-x86_64', 'cpio', 'depmod']
const noMachines = isFullRun ? whyNoGuests(PROGRAMS) : 'only with --all'

const OVN = ['libvirtd', 'qemu-system-x86_64', 'syslinux', 'ovs-vswitchd', 'ovn-northd', 'ssh']
const noNetworks = noClient ?? whyNoGuests(OVN)

describe('a page can be typed', () => {
  test.skipIf(noNetworks !== undefined)(
    NETWORKS.page,
    async () => {
      machine = owned.use(new Machine())
      reader = new Reader({ machine }, {})

      await reader.type(NETWORKS)
    },
    PAGE_MS,
  )

  test.skipIf(noClient !== undefined)(
    TUTORIAL.page,
    async () => {
      machine = owned.use(new Machine())
      reader = new Reader({ machine }, {})
      expect(TUTORIAL.steps.length).toBeGreaterThan(15)

      await reader.type(TUTORIAL)
    },
    PAGE_MS,
  )

  test.skipIf(noClient !== undefined)(
    PLACEMENT_POLICIES.page,
    async () => {
      machine = owned.use(new Machine())
      expect(await machine.type('./weir up --driver fake --hosts 1')).toMatchObject({ code: 0 })

      await new Reader({ machine }, {}).type(PLACEMENT_POLICIES)
    },
    PAGE_MS,
  )

  test.skipIf(noClient !== undefined)(
    MAINTENANCE.page,
    async () => {
      machine = owned.use(new Machine())
      const up = await machine.type('./weir up --driver fake --cells 1 --hosts 2')
      expect(up).toMatchObject({ code: 0 })

      await new Reader({ machine }, {}).type(MAINTENANCE)
    },
    PAGE_MS,
  )

  test.skipIf(noClient !== undefined)(
    BETWEEN_CELLS.page,
    async () => {
      machine = owned.use(new Machine())
      const up = await machine.type('./weir up --driver fake --cells 2 --hosts 1')
      expect(up).toMatchObject({ code: 0 })
      // It may have been placed in either.
      await machine.type('./weir server move first --cell north --wait')

      await new Reader({ machine }, {}).type(BETWEEN_CELLS)
    },
    PAGE_MS,
  )

  test.skipIf(noClient !== undefined)(
    PROTECTION.page,
    async () => {
      machine = owned.use(new Machine())
      const up = await machine.type('./weir up --driver fake --cells 1 --hosts 1')
      expect(up).toMatchObject({ code: 0 })

      await new Reader({ machine }, {}).type(PROTECTION)
    },
    PAGE_MS,
  )

  test.skipIf(noClient !== undefined)(
    VOLUMES.page,
    async () => {
      machine = owned.use(new Machine())
      const up = await machine.type('./weir up --driver fake --cells 1 --hosts 1')
      expect(up).toMatchObject({ code: 0 })

      await new Reader({ machine }, {}).type(VOLUMES)
    },
    PAGE_MS,
  )

  test.skipIf(noKeystone !== undefined)(
    KEYSTONE.page,
    async () => {
      const keystone = owned.use(await RealKeystone.start())
      const account = {
        OS_AUTH_URL: keystone.url,
        OS_USERNAME: 'admin',
        OS_PASSWORD: ADMIN_PASSWORD,
        OS_PROJECT_NAME: 'admin',
        OS_USER_DOMAIN_ID: 'default',
        OS_PROJECT_DOMAIN_ID: 'default',
        OS_IDENTITY_API_VERSION: '3',
      }
      machine = owned.use(new Machine(exports(account)))
      const url = await migratedDatabase('page_keystone', 'gateway')
      const settings = {
        ...(await gatewayEnv(url)),
        GATEWAY_LOG_LEVEL: 'info',
        GATEWAY_IDENTITY_MODE: 'external',
        GATEWAY_IDENTITY_URL: keystone.url,
        GATEWAY_IDENTITY_USER: 'admin',
        GATEWAY_IDENTITY_PROJECT: 'admin',
        GATEWAY_IDENTITY_PASSWORD: ADMIN_PASSWORD,
      }
      writeFileSync(join(machine.folder, 'gateway.env'), exports(settings))

      await new Reader({ machine }, {}).type(KEYSTONE)
    },
    PAGE_MS,
  )

  test.skipIf(noMachines !== undefined)(
    BARE_METAL.page,
    async () => {
      machine = owned.use(new Machine())
      const rack = owned.use(new Machine())
      const bootUrl = `http://127.0.0.1:${await freePort()}`
      const metal = owned.use(
        await startMachine({ diskMb: 64, quick: { bootUrl, macAddress: MAC } }),
      )
      const { port, user, password } = metal.bmc
      reader = new Reader(
        { machine, rack },
        {
          'http://192.0.2.1:8480': bootUrl,
          '--bmc 192.0.2.7 --bmc-user weir': `--bmc 127.0.0.1:${port} --bmc-user ${user}`,
          PASSWORD: password,
        },
      )

      await reader.type(BARE_METAL)
    },
    PAGE_MS,
  )
})

function exports(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `export ${name}='${value}'`)
    .join('; ')
}
