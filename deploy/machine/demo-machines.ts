import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { run } from '#drivers/run.ts'
import { findProgram } from '../process/find-program.ts'
import { freePort } from '../process/free-port.ts'
import { isRunning, type ProcessIdentity } from '../process/process-identity.ts'
import { startProcess } from '../process/start-process.ts'
import { stopProcess } from '../process/stop-process.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import { bridgeNic, writeBridgeHelper } from './bridge-helper.ts'
import {
  CHASSIS,
  type MachinePlan,
  qemuCommand,
  SIMULATOR_ARGUMENTS,
  writeMachineFiles,
} from './machine-files.ts'

/** A simulated machine, as an operator would enrol a real one. */
export interface DemoMachine {
  readonly name: string
  readonly macAddress: string
  /** Of its NIC on the bridge of the site; absent: it has none. */
  readonly siteMacAddress?: string
  readonly bmc: MachinePlan['bmc']
}

/** A bridge in the namespaces of a process. */
export interface BridgePlace {
  readonly holderPid: number
  readonly bridge: string
}

interface Kept {
  readonly bootPort: number
  readonly machines: readonly (DemoMachine & { readonly serialPort: number })[]
}

const MACHINES = 2
const DISK_MB = 1_024
const SWITCH_MS = 20_000
/** Left where a machine ran when all were stopped: it is switched on again with its BMC. */
const WAS_ON = 'was-on'
const PATH = '/usr/sbin:/usr/bin:/sbin:/bin'
/** In QEMU's own network, which reaches nothing else. */
const BOOT_ADDRESS = '10.0.2.100'
/** The prefix of QEMU's MAC addresses, which are locally administered and free for any machine. */
const MAC_PREFIX = '52:54:00'

export const DEMO_BOOT_URL = `http://${BOOT_ADDRESS}`

/**
 * Afterwards simulated machines of a host are reachable over real IPMI on loopback, and off. By their first NIC they reach
 * the boot server on the returned port, and nothing else; a second NIC is on the bridge of `site`. Their disks are kept
 * when they end.
 */
export async function startDemoMachines(directory: string, site?: BridgePlace): Promise<Kept> {
  const home = resolve(directory)
  await mkdir(home, { recursive: true, mode: 0o700 })
  const kept = known(home) ?? (await plan(home, site !== undefined))
  for (const machine of kept.machines)
    await startBmc(home, machine, { bootPort: kept.bootPort, site })
  return kept
}

/** The machines that were started under `directory`. */
export function demoMachines(directory: string): readonly DemoMachine[] {
  return known(resolve(directory))?.machines ?? []
}

/** Afterwards no machine under `directory` runs, nor its BMC. */
export async function stopDemoMachines(directory: string): Promise<void> {
  const home = resolve(directory)
  for (const { name } of demoMachines(home)) {
    const machine = join(home, name)
    const bmc = runningBmc(machine)
    if (bmc !== undefined) await stopProcess(bmc)
    if ((await chassis(machine, ['get', 'power'])).includes('power:1'))
      await writeFile(join(machine, WAS_ON), '')
    await chassis(machine, ['set', 'power', '0'])
  }
}

/** Does what a machine's BMC does. `qemu`: how the machine is switched on. */
async function chassis(machine: string, args: readonly string[], qemu = ''): Promise<string> {
  const env = { MACHINE: machine, QEMU: qemu, PATH }
  return (await run(CHASSIS, args, { env, timeoutMs: SWITCH_MS })).stdout
}

async function plan(home: string, isOnSite: boolean): Promise<Kept> {
  const machines = []
  for (let nth = 1; nth <= MACHINES; nth += 1)
    machines.push(await planMachine(home, `node-${nth}`, isOnSite))
  const kept = { bootPort: await freePort(), machines }
  writeFileAtomically(join(home, 'machines.json'), JSON.stringify(kept, null, 2))
  return kept
}

async function planMachine(
  home: string,
  name: string,
  isOnSite: boolean,
): Promise<Kept['machines'][number]> {
  const machine = {
    name,
    macAddress: newMac(),
    ...(isOnSite && { siteMacAddress: newMac() }),
    bmc: {
      address: '127.0.0.1',
      port: await freePort(),
      user: 'admin',
      password: randomBytes(8).toString('hex'),
      privilege: 'administrator',
    },
    serialPort: await freePort(),
  } as const
  await writeMachineFiles({ ...machine, directory: join(home, name), diskMb: DISK_MB })
  return machine
}

function newMac(): string {
  const tail = [...randomBytes(3)].map((byte) => byte.toString(16).padStart(2, '0'))
  return [MAC_PREFIX, ...tail].join(':')
}

function known(home: string): Kept | undefined {
  const path = join(home, 'machines.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Kept) : undefined
}

async function startBmc(
  home: string,
  { name, macAddress, siteMacAddress, serialPort }: Kept['machines'][number],
  { bootPort, site }: { readonly bootPort: number; readonly site: BridgePlace | undefined },
): Promise<void> {
  const machine = join(home, name)
  const isOnSite = site !== undefined && siteMacAddress !== undefined
  if (isOnSite) await writeBridgeHelper(machine, site.holderPid)
  const siteNic = isOnSite ? bridgeNic(site.bridge, siteMacAddress) : []
  if (runningBmc(machine) !== undefined) return
  const toBootServer = join(machine, 'to-boot-server')
  // QEMU runs it for every connection.
  await writeFile(toBootServer, `#!/bin/sh\nexec /bin/busybox nc 127.0.0.1 ${bootPort}\n`)
  await chmod(toBootServer, 0o700)
  const nic = [
    `user,model=virtio-net-pci,mac=${macAddress},restrict=on`,
    `guestfwd=tcp:${BOOT_ADDRESS}:80-cmd:${toBootServer}`,
    `bootfile=${DEMO_BOOT_URL}/boot.ipxe?mac=${macAddress}`,
  ].join(',')
  const qemu = qemuCommand(serialPort, ['-nic', nic, ...siteNic])
  await startProcess({
    command: findProgram('ipmi_sim'),
    args: [...SIMULATOR_ARGUMENTS, '-n'],
    env: { MACHINE: machine, QEMU: qemu, PATH },
    directory: machine,
    logFile: join(machine, 'bmc.log'),
    lifetime: 'detached',
    record: (bmc) => writeFileAtomically(join(machine, 'bmc.json'), JSON.stringify(bmc)),
  })
  if (!existsSync(join(machine, WAS_ON))) return
  await chassis(machine, ['set', 'power', '1'], qemu)
  await rm(join(machine, WAS_ON))
}

function runningBmc(machine: string): ProcessIdentity | undefined {
  const path = join(machine, 'bmc.json')
  if (!existsSync(path)) return undefined
  const identity = JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity
  return isRunning(identity) ? identity : undefined
}
