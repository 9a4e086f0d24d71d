import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { callApi, type Session, signIn } from '#deploy/api/session.ts'
import { ensureFlavors } from '#deploy/catalog/ensure-flavors.ts'
import { ensureImage, simulatedImage } from '#deploy/catalog/ensure-image.ts'
import { trust } from '../env/certificate.ts'
import { isFullRun } from '../env/full-run.ts'
import { type Machine, MachineNetwork } from '../env/machines/machine.ts'
import { pageScript, type Step } from './page-script.ts'

// Goal: the commands of the page for a standby site make one from a control plane that serves; where the first site is lost,
// one command has the other serve, the cell finds it, and the site that comes back steps down and follows.

const MADE_MS = 400_000
const STATE_MS = 90_000
const VERSION = { 'openstack-api-version': 'compute 2.90' }
const START_ALL = 'systemctl enable --now weir-mariadb weir-nats weir-gateway weir-haproxy'
const ADMIT = './weir standby admit --site south --machines 198.51.100.11'
const JOIN = './weir standby join --from https://192.0.2.11:8445 --token-file token'
const ENVIRONMENT = 'export OS_CLOUD=weir-admin OS_CLIENT_CONFIG_FILE=/etc/weir/clouds.yaml'
const SERVERS = '/compute/v2.1/servers'

const log = createLogger('standby page', 'info')
let network: MachineNetwork
let north: Machine
let south: Machine
let cell: Machine
let isTrusted: Disposable | undefined
let demo: Session
let image = ''
let server = ''

function typed(line: string): string {
  return line.replaceAll('198.51.100.11', south.address).replaceAll('192.0.2.11', north.address)
}

async function succeed(machine: Machine, line: string): Promise<string> {
  const begun = performance.now()
  const { code, said } = await machine.type(typed(line))
  log.info({ line, ms: Math.round(performance.now() - begun) }, 'typed')
  expect(code, `${line} said: ${said}`).toBe(0)
  return said
}

async function install(machine: Machine): Promise<void> {
  await succeed(machine, 'useradd --system --home-dir /var/lib/weir weir')
  await succeed(machine, 'cp deploy/systemd/weir-*.service /etc/systemd/system/')
}

/** The first site waits until the other one has used the token that it prints. */
async function admit(): Promise<void> {
  const waiting = north.begin(typed(ADMIT))
  const ended = new Promise<number | null>((resolve) => waiting.once('exit', resolve))
  let said = ''
  waiting.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await waitFor('a token', () => said.endsWith('\n'), STATE_MS)
  await succeed(south, `echo ${said.trim()} > /run/token`)
  await succeed(south, JOIN.replace('token-file token', 'token-file /run/token'))
  expect(await ended).toBe(0)
}

async function signInAt(machine: Machine, name: 'admin' | 'demo'): Promise<Session> {
  const password = await succeed(south, `cat /etc/weir/${name}.password`)
  const account = { userName: name, projectName: name, password }
  return signIn(`https://${machine.address}:8443`, account)
}

async function boot(): Promise<string> {
  const body = { server: { name: 'one', flavorRef: '1', imageRef: image, networks: 'none' } }
  const made = await callApi<{ server: { id: string } }>(demo, {
    method: 'POST',
    path: SERVERS,
    headers: VERSION,
    body,
  })
  return made.server.id
}

async function isActive(id: string): Promise<boolean> {
  const path = `${SERVERS}/${id}`
  const shown = await callApi<{ server: { status: string } }>(demo, { method: 'GET', path })
  return shown.server.status === 'ACTIVE'
}

async function prepareCloud(): Promise<void> {
  for (const machine of [north, south]) await install(machine)
  await succeed(north, './weir init --machines 192.0.2.11')
  await succeed(north, 'systemctl enable --now weir-mariadb weir-nats')
  await succeed(north, './weir db migrate --env-file /etc/weir/gateway.env')
  await succeed(north, './weir admin bootstrap')
  await succeed(north, 'systemctl enable --now weir-gateway weir-haproxy')
  const caFile = join(network.directory, 'tls.crt')
  writeFileSync(caFile, await succeed(north, 'cat /etc/weir/tls.crt'))
  isTrusted = trust({ caFile, certificateFile: caFile, keyFile: '' })
  const said = await succeed(north, `${ENVIRONMENT}; ./weir cell token create edge`)
  const token = /weir1\.[\w-]+\.[\w-]+/.exec(said)?.[0] ?? ''
  const joined = `WEIR_HOME=/var/lib/weir/home WEIR_JOIN_TOKEN=${token} ./weir cell join`
  await succeed(cell, `${joined} --gateway https://192.0.2.11:8443 --driver fake --hosts 1`)
}

/** Images, and a server that the second site knows before the first one is lost. */
async function makeServer(): Promise<void> {
  const admin = await signInAt(north, 'admin')
  demo = await signInAt(north, 'demo')
  await ensureFlavors(admin)
  await ensureImage(admin, simulatedImage)
  const { images } = await callApi<{ images: readonly { id: string }[] }>(demo, {
    method: 'GET',
    path: '/image/v2/images',
  })
  image = images[0]!.id
  server = await boot()
  await waitFor('the server', () => isActive(server), STATE_MS)
}

const NORTH = () => north
const SOUTH = () => south
const AT: Readonly<Record<string, () => Machine>> = { north: NORTH, south: SOUTH }
let steps = 0

const HOW: Readonly<Record<string, Step>> = {
  './weir standby prepare --site north': {
    at: 'north',
    shows: /changed +\/etc\/weir\/mariadb.cnf/,
  },
  'systemctl restart weir-mariadb weir-gateway': { at: 'north' },
  [ADMIT]: { notTyped: 'It is typed with the join that it waits for.' },
  [JOIN]: { notTyped: 'The same.', before: admit },
  'systemctl enable --now weir-mariadb weir-nats': { at: 'south' },
  './weir standby follow': { at: 'south', shows: /follows that of site/ },
  'systemctl enable --now weir-gateway weir-haproxy': { at: 'south', after: makeServer },
  './weir standby status': { at: 'south', shows: /CAN BE PROMOTED +yes/i },
  './weir standby promote': { at: 'south', shows: /Site south is active, in generation 2/ },
  "./weir standby promote --stopped 'its uplink was cut at 12:04'": {
    notTyped: 'It is typed with a first site that answers, below.',
  },
  './weir gateway admit': { notTyped: 'The page about production types it.' },
}

async function typeStep(step: Step & { readonly line: string }): Promise<void> {
  await step.before?.()
  if (step.notTyped === undefined) {
    const said = await succeed(AT[step.at ?? 'south']!(), step.typed ?? step.line)
    if (step.shows !== undefined) expect(said).toMatch(step.shows)
  }
  await step.after?.()
}

describe.skipIf(process.getuid?.() !== 0 || !isFullRun)('two sites', () => {
  const script = pageScript('docs/how-to/standby.md', HOW).steps
  const lost = script.findIndex(({ line }) => line === './weir standby promote')

  beforeAll(async () => {
    network = new MachineNetwork()
    ;[north, south, cell] = [await network.add(11), await network.add(31), await network.add(21)]
    for (const machine of [north, south]) await machine.share('/var/lib/weir/images')
    await prepareCloud()
  }, MADE_MS)

  afterAll(async () => {
    isTrusted?.[Symbol.dispose]()
    await network?.[Symbol.asyncDispose]()
  }, MADE_MS)

  test(
    'the commands make a second site, which follows',
    async () => {
      for (const step of script.slice(0, lost)) await typeStep(step)
      steps = lost
      const { code, said } = await south.type('./weir standby promote')
      expect(code).not.toBe(0)
      expect(said).toMatch(/Site north still answers/)
    },
    MADE_MS,
  )

  test(
    'one command has it serve when the first site is lost, and the cell finds it',
    async () => {
      await north.save()
      await north.lose()

      await typeStep(script[steps]!)
      demo = await waitFor(
        'a token',
        () => signInAt(south, 'demo').catch(() => undefined),
        STATE_MS,
      )
      expect(await isActive(server)).toBe(true)
      const next = await waitFor('a boot', () => boot().catch(() => undefined), STATE_MS)
      await waitFor('the server', () => isActive(next), STATE_MS)
    },
    MADE_MS,
  )

  test(
    'the first site steps down when it comes back, follows, and takes its place again',
    async () => {
      north = await network.add(11)
      await north.share('/var/lib/weir/images')
      await succeed(north, START_ALL)
      // Its neighbours have to learn where its address is now.
      const ask = () => fetch(`https://${north.address}:8443${SERVERS}`).catch(() => undefined)
      const answer = await waitFor('an answer', ask, STATE_MS)
      expect(answer.status).toBe(503)
      expect(await answer.text()).toContain('Site south was promoted')
      await succeed(north, './weir standby follow')
      expect(await succeed(north, './weir standby status')).toMatch(/CAN BE PROMOTED +yes/i)

      await succeed(north, "./weir standby promote --stopped 'its uplink was cut at 12:04'")
      demo = await waitFor(
        'a token',
        () => signInAt(north, 'demo').catch(() => undefined),
        STATE_MS,
      )
      const next = await waitFor('a boot', () => boot().catch(() => undefined), STATE_MS)
      await waitFor('the server', () => isActive(next), STATE_MS)
    },
    MADE_MS,
  )
})
