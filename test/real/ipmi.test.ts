import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Bmc } from '#drivers/ipmi/bmc.ts'
import { controlPower, isPoweredOn, setBootOptions } from '#drivers/ipmi/chassis.ts'
import { readSensors } from '#drivers/ipmi/sensors.ts'
import { openSerialConsole } from '#drivers/ipmi/serial-console.ts'
import { echoDisk } from './machine/echo-disk.ts'
import { type SimulatedMachine, startMachine } from './machine/simulated-machine.ts'
import { whyNoGuests } from './requirements.ts'

const why = whyNoGuests(['ipmi_sim', 'ipmitool', 'qemu-system-x86_64'])

describe.skipIf(why !== undefined)(`IPMI${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  let machine: SimulatedMachine
  let bmc: Bmc
  const signal = () => AbortSignal.timeout(30_000)

  beforeAll(async () => {
    machine = await startMachine({ diskMb: 1, content: echoDisk() })
    bmc = new Bmc(machine.bmc)
  })
  afterAll(async () => {
    await bmc?.[Symbol.asyncDispose]()
    await machine?.[Symbol.asyncDispose]()
  })

  test('switches a machine that boots from the requested device', async () => {
    expect(await isPoweredOn(bmc, signal())).toBe(false)

    const network = { device: 'network', isPersistent: false, usesEfi: false } as const
    await setBootOptions(bmc, network, signal())
    expect(await machine.ipmitool('chassis', 'bootparam', 'get', '5')).toContain('Force PXE')
    await controlPower(bmc, 'on', signal())
    expect(await isPoweredOn(bmc, signal())).toBe(true)
    expect(await machine.ipmitool('power', 'status')).toContain('on')

    await controlPower(bmc, 'reset', signal())
    expect(await isPoweredOn(bmc, signal())).toBe(true)
    await controlPower(bmc, 'off', signal())
    expect(await isPoweredOn(bmc, signal())).toBe(false)
    expect(await machine.ipmitool('power', 'status')).toContain('off')
  })

  test('reads sensors as ipmitool does', async () => {
    const [sensor] = await readSensors(bmc, signal())
    const [name, value] = (await machine.ipmitool('sdr', 'list')).split('|')
    expect(sensor).toEqual({ name: name?.trim(), unit: '°C', value: Number.parseInt(value!, 10) })
  })

  test('carries the serial console both ways, and gives it to the last client', async () => {
    await controlPower(bmc, 'on', signal())
    const first = await openSerialConsole(bmc, signal())
    const console = await openSerialConsole(bmc, signal())
    let shown = ''
    console.setEncoding('latin1').on('data', (text: string) => (shown += text))
    const output = () => {
      console.write('.')
      return shown
    }
    // The simulator connects to the machine's serial port some seconds after it is there.
    await expect.poll(output).toContain('.')

    console.write(`<${'0123456789'.repeat(20)}>`)

    await expect.poll(() => shown).toContain(`<${'0123456789'.repeat(20)}>`)
    for (const stream of [first, console]) {
      const closed = once(stream, 'close')
      stream.destroy()
      await closed
    }
  })
})
