import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitFor } from '#common/wait-for.ts'
import { freePort } from '#deploy/process/free-port.ts'
import type { BmcSettings } from '#drivers/baremetal/ipmi/bmc-settings.ts'
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
  /** In place of QEMU: a program that does at once what a machine does, and boots from the network here. */
  readonly quick?: { readonly bootUrl: string; readonly macAddress: string }
}

const QUICK_MACHINE = fileURLToPath(new URL('quick-machine', import.meta.url))
const CHASSIS = fileURLToPath(new URL('chassis', import.meta.url))
const PASSWORD = 'sixteen-bytes-ok'
const START_MS = 20_000

/** A temperature of 0x60 raw, and an empty log of events. */
const DEVICES = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
sel_enable 0x20 1000 0x0a
sensor_add 0x20 0 2 0x01 0x01
sensor_set_value 0x20 0 2 0x60 0
sensor_set_event_support 0x20 0 2 enable scanning per-state 000000000000000 000000000000000 000000000000000 000000000000000
main_sdr_add 0x20 0x00 0x00 0x51 0x01 0x31 0x20 0x00 0x02 0x03 0x01 0x67 0x88 0x01 0x01 0xc0 0x7a 0xc0 0x7a 0x38 0x38 0x00 0x01 0x00 0x00 0x01 0x00 0x00 0x00 0x00 0x00 0x03 0x60 0xb0 0x00 0xb0 0x00 0xa0 0x90 0x66 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0xc6 0x44 0x4a 0x54 0x65 0x6d 0x70
mc_enable 0x20
`

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
  await mkdir(join(directory, 'state'))
  await writeFile(join(directory, 'disk.img'), options.content ?? '')
  await truncate(join(directory, 'disk.img'), options.diskMb * 1024 ** 2)
  await writeFile(join(directory, 'devices'), DEVICES)
  await writeFile(join(directory, 'lan.conf'), lanConf(bmc, serialPort), { mode: 0o600 })
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
  return spawn('ipmi_sim', ['-c', 'lan.conf', '-f', 'devices', '-s', 'state', '-d'], {
    cwd: directory,
    env: { MACHINE: directory, ...machine, PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
}

function lanConf({ address, port, user, password }: BmcSettings, serialPort: number): string {
  const kinds = 'none md2 md5 straight'
  return `name "machine"
set_working_mc 0x20
  startlan 1
    addr ${address} ${port}
    priv_limit admin
    allowed_auths_callback ${kinds}
    allowed_auths_user ${kinds}
    allowed_auths_operator ${kinds}
    allowed_auths_admin ${kinds}
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "${CHASSIS}"
  sol "tcp:127.0.0.1:${serialPort}" 115200
  user 2 true "${user}" "${password}" admin 10 ${kinds}
`
}

function qemuCommand(serialPort: number, more: readonly string[]): string {
  const serial = `tcp:127.0.0.1:${serialPort},server=on,wait=off,logfile=console.log,logappend=on`
  return [
    'qemu-system-x86_64 -M pc -accel tcg -m 256 -display none',
    `-serial ${serial}`,
    '-drive file=disk.img,format=raw,if=virtio',
    ...(more.length === 0 ? ['-nic none'] : more),
  ].join(' ')
}

async function runIpmitool(bmc: BmcSettings, args: readonly string[]): Promise<string> {
  const where = ['-I', 'lanplus', '-C', '3', '-H', bmc.address, '-p', String(bmc.port)]
  const env = { IPMI_PASSWORD: bmc.password, PATH: '/usr/bin:/bin' }
  const who = ['-U', bmc.user, '-E']
  return (await run('ipmitool', [...where, ...who, ...args], { env, timeoutMs: START_MS })).stdout
}
