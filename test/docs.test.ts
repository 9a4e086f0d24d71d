import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { configFromEnv as computeConfig } from '#cells/compute/config.ts'
import { configFromEnv as cellConfig } from '#cells/config.ts'
import { FILTERS } from '#cells/scheduler/filters.ts'
import type { Env } from '#common/env.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { apiStatus, TASKS, VM_STATES } from '#common/states/instance-states.ts'
import { recordedName, SERVER_ACTION_NAMES, SERVER_ACTIONS } from '#common/states/server-actions.ts'
import { createProgram } from '#deploy/cli/program.ts'
import { NODE_RULES, NODE_STATES } from '#drivers/baremetal/nodes/node-states.ts'
import { CAPABILITIES, capabilitiesOf, DRIVER_NAMES } from '#drivers/driver.ts'
import { createDriver } from '#drivers/registry.ts'
import { SETTINGS_NEEDED } from '#drivers/testing/settings-needed.ts'
import { renderReference } from '#gateway/cli/reference.ts'
import { scriptedOperator } from '#gateway/cli/testing/scripted-operator.ts'
import { configFromEnv as gatewayConfig } from '#gateway/config.ts'
import { MAX } from '#openapi/microversions.ts'

/** As it stands in a literal, without what comes from a variable. */
const SECRET_FILE = /(?<=['`/}])[a-z-]*\.(?:creds|key|nk|crt|password)(?=['`])/g
const ROOT_PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
]
/** Of another place in this repository. */
const LINK = /\]\((?!https?:)([^)\s]+)\)/g
/** Names of filters, and where they run. */
const FILTER_ROW = /^\| (`[^|]+`) \|[^|]*\| (always|usual|optional) \|$/gm
/** Before and after the part of docs/reference/drivers.md that is rewritten. */
const TABLE_MARK = '<!-- what each driver can -->'

test('docs/reference/api.md names the newest microversion', async () => {
  expect(await readFile('docs/reference/api.md', 'utf8')).toContain(`microversions 2.1 to ${MAX} |`)
})

// `./weir test test/docs.test.ts -u` rewrites the pages.
test('docs/reference/states.md shows the states and transitions of the code', async () => {
  await expect(renderStates()).toMatchFileSnapshot('../docs/reference/states.md')
})

test('docs/reference/drivers.md shows the abilities of each driver', async () => {
  const page = await readFile('docs/reference/drivers.md', 'utf8')
  const [before, , after] = page.split(TABLE_MARK)
  const written = [before, `\n\n${await renderDrivers()}\n`, after].join(TABLE_MARK)
  await expect(written).toMatchFileSnapshot('../docs/reference/drivers.md')
})

test('docs/reference/cli.md shows every command', async () => {
  const program = createProgram(scriptedOperator())
  await expect(renderReference(program)).toMatchFileSnapshot('../docs/reference/cli.md')
})

test('docs/reference/settings.md names every variable that a program reads', async () => {
  const page = await readFile('docs/reference/settings.md', 'utf8')
  for (const [prefix, read] of [
    ['GATEWAY_', gatewayConfig],
    ['CELL_', cellConfig],
  ] as const) {
    const asked = variablesOf(prefix, read)
    expect(asked.length).toBeGreaterThan(5)
    expect(asked.filter((name) => !isNamed(page, name))).toEqual([])
  }
  // A compute's environment is copied before it is read, so the required settings are those that its error names.
  const missing = /COMPUTE_\w+/g
  const needed = String(errorOf(() => computeConfig({}))).match(missing) ?? []
  expect(needed.length).toBeGreaterThan(5)
  expect(needed.filter((name) => !isNamed(page, name))).toEqual([])
})

test('docs/reference/settings.md names the filters of a cell in their order, and where they run', async () => {
  const page = await readFile('docs/reference/settings.md', 'utf8')
  const [, section = ''] = page.split('### Filters of a cell')
  const documented = Array.from(section.matchAll(FILTER_ROW), ([, names = '', usual]) =>
    names.split(', ').map((name) => `${name.replaceAll('`', '')} ${usual}`),
  )
  expect(documented.flat()).toEqual(
    FILTERS.map(({ name, runs = 'always' }) => `${name} ${runs === 'named' ? 'optional' : runs}`),
  )
})

test('docs/explanation/security.md names every file that a secret is kept in', async () => {
  const page = await readFile('docs/explanation/security.md', 'utf8')
  const sources = (await readdir('deploy', { recursive: true })).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  )
  const texts = await Promise.all(sources.map((path) => readFile(join('deploy', path), 'utf8')))
  const named = texts.flatMap((text) => text.match(SECRET_FILE) ?? [])
  const files = [...new Set(named.map((name) => name.split('/').at(-1)!))]
  expect(files.length).toBeGreaterThan(8)
  expect(files.filter((name) => !page.includes(name))).toEqual([])
})

test('docs/README.md leads to every document', async () => {
  const index = await readFile('docs/README.md', 'utf8')
  const pages = (await readdir('docs', { recursive: true })).filter(
    (name) => name.endsWith('.md') && name !== 'README.md' && !name.includes('decisions/'),
  )
  expect(pages.length).toBeGreaterThan(20)
  expect(pages.filter((name) => !index.includes(`](${name})`))).toEqual([])
})

test('every link in a document leads to a file and a heading that are there', async () => {
  const pages = (await readdir('docs', { recursive: true })).filter((name) => name.endsWith('.md'))
  const documents = [...ROOT_PAGES, ...pages.map((name) => join('docs', name))]
  const broken = await Promise.all(documents.map(brokenLinks))
  expect(broken.flat()).toEqual([])
})

test('decisions are numbered from 1 on, without gaps', async () => {
  const numbers = (await readdir('docs/explanation/decisions')).map((name) =>
    Number(name.slice(0, 4)),
  )
  expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1))
})

/** Links of a document to files that are not there, and to headings that their page has not. */
async function brokenLinks(document: string): Promise<readonly string[]> {
  const text = await readFile(document, 'utf8')
  const targets = Array.from(text.matchAll(LINK), ([, target = '']) => target)
  const isBroken = async (target: string) => {
    const [path = '', anchor] = target.split('#')
    const file = path === '' ? document : join(dirname(document), path)
    if (!existsSync(file)) return true
    return anchor !== undefined && !headingsOf(await readFile(file, 'utf8')).has(anchor)
  }
  const verdicts = await Promise.all(targets.map(isBroken))
  return targets.filter((_, nth) => verdicts[nth]).map((target) => `${document}: ${target}`)
}

/** The anchors of a page, as GitHub makes them of its headings. */
function headingsOf(page: string): ReadonlySet<string> {
  const anchors = Array.from(page.matchAll(/^#{1,6} (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-'),
  )
  return new Set(anchors)
}

/** The variables read from an environment in which only TLS and an operator are set. */
function variablesOf(prefix: string, read: (env: Env) => unknown): readonly string[] {
  const asked = new Set<string>()
  const present = ['GATEWAY_TLS_CERTIFICATE_FILE', 'GATEWAY_NATS_OPERATOR_SEED']
  const env = new Proxy<Env>(
    {},
    {
      get: (_, name) => {
        asked.add(String(name))
        return present.includes(String(name)) ? 'set' : undefined
      },
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      ownKeys: () => [],
    },
  )
  expect(String(errorOf(() => read(env)))).toContain('is not set')
  return [...asked].filter((name) => name.startsWith(prefix))
}

function errorOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

/** Of a secret its file goes without saying; retention and weights are told in one line each. */
function isNamed(page: string, name: string): boolean {
  const [, head, tail] = /^([A-Z]+_(?:RETENTION|WEIGHT)_)(\w+?)(?:_DAYS)?$/.exec(name) ?? []
  const plain = name.replace(/_FILE$/, '')
  if (page.includes(code(name)) || page.includes(code(plain))) return true
  return head !== undefined && page.includes(`${head}…`) && page.includes(code(tail!))
}

async function renderDrivers(): Promise<string> {
  const rows: string[][] = []
  const stateDirectory = await mkdtemp(join(tmpdir(), 'drivers-'))
  const environment = {
    owner: { cellId: newId<CellId>(), hostId: newId<HostId>() },
    stateDirectory,
    images: { open: () => Promise.reject(new Error('No image is opened here')) },
  }
  for (const name of DRIVER_NAMES) {
    await using driver = await createDriver(name, environment, SETTINGS_NEEDED[name])
    const has = capabilitiesOf(driver)
    const able = CAPABILITIES.map((part) => (has.includes(part) ? 'yes' : 'no'))
    rows.push([code(name), driver.simulated ? 'simulated' : 'real', ...able])
  }
  await rm(stateDirectory, { recursive: true })
  return table(['Driver', 'Guests', ...CAPABILITIES.map(code)], rows)
}

function renderStates(): string {
  const plain = VM_STATES.map((vm) => [code(vm), code(apiStatus(vm, null)), exceptions(vm)])
  const actions = SERVER_ACTION_NAMES.map((action) => {
    const {
      from,
      over = [],
      onlyOver,
      needsNoLaunch,
      ignoresLock,
      during,
      to,
    } = SERVER_ACTIONS[action]
    const recorded = recordedName(action)
    return [
      code(action),
      names(from),
      [onlyOver === true ? '' : 'none', names(over)].filter((text) => text !== '').join(', '),
      during === null ? '' : code(during),
      to === null ? '' : code(to),
      ignoresLock === true ? '' : 'yes',
      needsNoLaunch === true ? '' : 'yes',
      recorded === null ? '' : code(recorded),
    ]
  })
  const nodes = NODE_STATES.map((state) => {
    const { target, after } = NODE_RULES[state]
    const events = Object.entries(after).map(([event, next]) => `${event}: ${code(next)}`)
    return [code(state), target === null ? '' : code(target), events.join(', ')]
  })
  return `# States of an instance

Generated from \`common/states/instance-states.ts\` and \`common/states/server-actions.ts\`. The vm state and the task are stored; the status is computed from them.
The task is null, or names the work of a saga whose id is in the instance's row.

${table(['Vm state', 'Status', 'While a task changes it'], plain)}
Tasks: ${TASKS.map(code).join(', ')}.

## Actions

An action begins only from the vm states in "From" and during the tasks in "During"; any other request is a \`conflict\` (409). So is an action that a lock
forbids, unless an administrator requests it, and an action that needs a server that has run. An action that fails leaves the vm
state as it was, with a fault. Where "To" is empty, the vm state stays as it was or depends on the outcome.

A resize that could not be confirmed or reverted therefore stays \`VERIFY_RESIZE\`, whereas Nova sets \`ERROR\`; both actions can be
repeated. From \`ERROR\` a hard reboot would make the server active, and the next resize would overwrite the disks that the host still keeps
for this resize, one of which is the only copy of the server's data. An administrator can set the state of a server that no action repairs.

${table(['Action', 'From', 'During', 'Task meanwhile', 'To', 'Forbidden by a lock', 'Must have run', 'Recorded as'], actions)}
# States of a bare metal node

Generated from \`drivers/baremetal/nodes/node-states.ts\`. A node without a target is stable: no work on it is in progress. Events that a row does not name
cannot happen in that state.

${table(['State', 'Target', 'Events and next states'], nodes)}`
}

function names(list: readonly string[] | 'any'): string {
  return list === 'any' ? 'any' : list.map(code).join(', ')
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
