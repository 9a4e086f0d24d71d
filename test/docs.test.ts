import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { POWER_TRANSITIONS } from '#cells/conductor/power-transitions.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { apiStatus, TASKS, VM_STATES } from '#common/states/instance-states.ts'
import { CAPABILITIES, capabilitiesOf, DRIVER_NAMES } from '#drivers/driver.ts'
import { createDriver } from '#drivers/registry.ts'

// `./weir test test/docs.test.ts -u` writes the pages anew.
test('docs/states.md shows the states and transitions of the code', async () => {
  await expect(renderStates()).toMatchFileSnapshot('../docs/states.md')
})

test('docs/drivers.md shows what each driver can', async () => {
  await expect(await renderDrivers()).toMatchFileSnapshot('../docs/drivers.md')
})

async function renderDrivers(): Promise<string> {
  const rows: string[][] = []
  const stateDirectory = await mkdtemp(join(tmpdir(), 'drivers-'))
  const environment = {
    owner: { cellId: newId<CellId>(), hostId: newId<HostId>() },
    stateDirectory,
    images: { open: () => Promise.reject(new Error('No image is opened here')) },
  }
  for (const name of DRIVER_NAMES) {
    await using driver = await createDriver(name, environment)
    const has = capabilitiesOf(driver)
    const able = CAPABILITIES.map((part) => (has.includes(part) ? 'yes' : 'no'))
    rows.push([code(name), driver.simulated ? 'simulated' : 'real', ...able])
  }
  await rm(stateDirectory, { recursive: true })
  return `# Drivers

Every driver has the whole core of \`drivers/driver.ts\`: inventory, spawn, destroy, list, start, stop, reboot, watch. What a driver has
beyond it:

${table(['Driver', 'Guests', ...CAPABILITIES.map(code)], rows)}`
}

function renderStates(): string {
  const plain = VM_STATES.map((vm) => [code(vm), code(apiStatus(vm, null)), exceptions(vm)])
  const transitions = Object.entries(POWER_TRANSITIONS).map(([action, { from, during, to }]) => [
    code(action),
    from.map(code).join(', '),
    code(during),
    code(to),
  ])
  return `# States of an instance

Made from \`common/states/instance-states.ts\` and \`cells/conductor/power-transitions.ts\`. Vm state and task are stored; the status is computed.
A task is null, or names what a saga, whose id is in the instance's row, is doing.

${table(['Vm state', 'Status', 'While a task changes it'], plain)}
Tasks: ${TASKS.map(code).join(', ')}.

## Power actions

An action begins only from the vm states named and while no task is set; otherwise it is a \`conflict\` (409). One that fails leaves the vm state
as it was, with a fault.

${table(['Action', 'From', 'Task meanwhile', 'To'], transitions)}`
}

function exceptions(vm: (typeof VM_STATES)[number]): string {
  return TASKS.filter((task) => apiStatus(vm, task) !== apiStatus(vm, null))
    .map((task) => `${code(apiStatus(vm, task))} (${task})`)
    .join(', ')
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return line(heads) + line(heads.map(() => '---')) + rows.map(line).join('')
}

function code(text: string): string {
  return `\`${text}\``
}
