import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitFor } from '#common/wait-for.ts'
import {
  CHASSIS,
  qemuCommand,
  SIMULATOR_ARGUMENTS,
  writeMachineFiles,
} from '#deploy/machine/machine-files.ts'
import { freePort } from '#deploy/process/free-port.ts'
import type { BmcSettings } from '#drivers/ipmi/bmc-settings.ts'
import { run } from '#drivers/run.ts'

export interface SimulatedMachine extends AsyncDisposable {
  readonly directory: string
  readonly bmc: BmcSettings
  /** All that the machine wrote on its serial port. */
  consoleLog(): Promise<string>
  /** Afterwards the BMC is silent. The machine goes on. */
  stopBmc(): Promise<void>
  /** Afterwards the BMC answers. */
  startBmc(): Promise<void>
  /** What ipmitool, which knows nothing of our code, says of the BMC. */
  ipmitool(...args: readonly string[]): Promise<string>
}

export interface MachineOptions {
  readonly diskMb: number
  /** What its disk begins with. */
  readonly content?: Buffer
  /** Arguments for QEMU, such as for a NIC. */
  readonly qemu?: readonly string[]
  /** In place of QEMU: a program that behaves like a machine without its delays, and boots from the network in the test. */
  readonly quick?: { readonly bootUrl: string; readonly macAddress: string }
}

const QUICK_MACHINE = fileURLToPath(new URL('quick-machine', import.meta.url))
const PASSWORD = 'sixteen-bytes-ok'
const START_MS = 20_000

/** A machine of QEMU's that is off, behind a BMC of ipmi_sim's. Needs the packages of purpose `baremetal`. */
export async function startMachine(options: MachineOptions): Promise<SimulatedMachine> {
  const directory = await mkdtemp(join(tmpdir(), 'weir-bm-'))
  const [port, serialPort] = [await freePort(), await freePort()]
  const bmc: BmcSettings = {
    address: '127.0.0.1',
    port,
    user: 'admin',
    password: PASSWORD,
    privilege: 'administrator',
  }
  const { diskMb, content } = options
  await writeMachineFiles({ directory, bmc, serialPort, diskMb, ...(content && { content }) })
  const start = () => startSimulator(directory, machineEnvironment(serialPort, options))
  let simulator = start()
  const ipmitool = (...args: readonly string[]) => runIpmitool(bmc, args)
  const machine: SimulatedMachine = {
    directory,
    bmc,
    ipmitool,
    consoleLog: () => readFile(join(directory, 'console.log'), 'latin1').catch(() => ''),
    async stopBmc() {
      const ended = once(simulator, 'exit')
      if (simulator.kill('SIGKILL')) await ended
    },
    async startBmc() {
      simulator = start()
      await untilAnswers(ipmitool)
    },
    async [Symbol.asyncDispose]() {
      await machine.stopBmc()
      const env = { MACHINE: directory, PATH: '/usr/bin:/bin' }
      await run(CHASSIS, ['set', 'power', '0'], { env, timeoutMs: START_MS })
      await rm(directory, { recursive: true, force: true })
    },
  }
  try {
    await untilAnswers(ipmitool)
    return machine
  } catch (error) {
    await machine[Symbol.asyncDispose]()
    throw error
  }
}

async function untilAnswers(ipmitool: SimulatedMachine['ipmitool']): Promise<void> {
  const ask = () => ipmitool('-N', '1', '-R', '1', 'mc', 'info').catch(() => undefined)
  await waitFor('the BMC to answer', ask, START_MS)
}

function machineEnvironment(serialPort: number, { quick, qemu }: MachineOptions) {
  if (quick === undefined) return { QEMU: qemuCommand(serialPort, qemu ?? []) }
  return {
    QEMU: QUICK_MACHINE,
    NODE: process.execPath,
    BOOT_URL: quick.bootUrl,
    MAC: quick.macAddress,
    SERIAL_PORT: String(serialPort),
  }
}

function startSimulator(
  directory: string,
  machine: Readonly<Record<string, string>>,
): ChildProcess {
  // It ends with its standard input, so with this process.
  return spawn('ipmi_sim', [...SIMULATOR_ARGUMENTS, '-d'], {
    cwd: directory,
    env: { MACHINE: directory, ...machine, PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
}

async function runIpmitool(bmc: BmcSettings, args: readonly string[]): Promise<string> {
  const where = ['-I', 'lanplus', '-C', '3', '-H', bmc.address, '-p', String(bmc.port)]
  const env = { IPMI_PASSWORD: bmc.password, PATH: '/usr/bin:/bin' }
  const who = ['-U', bmc.user, '-E']
  return (await run('ipmitool', [...where, ...who, ...args], { env, timeoutMs: START_MS })).stdout
}
