import { Command, type Option } from 'commander'
import { withCloud, withView, withWatch } from './api-options.ts'
import { examplesOf } from './examples.ts'
import { type Ending, EXIT_CODES } from './exit-codes.ts'

const MEANINGS: Readonly<Record<Ending, string>> = {
  ok: 'Success',
  failed: 'Failure: standard error says why, and what to do',
  usage: 'Usage error',
  'not-found': 'Not found',
  partial:
    'Partial: some of the data is stale, because a cell is unreachable or a process does not run',
  'timed-out': 'Timed out while waiting; the operation goes on',
  interrupted: 'Interrupted with Ctrl-C',
}

/** The page about the command line: all of what `program` knows, in the order of its help. */
export function renderReference(program: Command): string {
  const shared = sharedFlags()
  return `# Command line

Made from the definitions of the commands; \`./weir <command> --help\` shows the same. Results go to standard output, all else to standard
error. Colours only on a terminal, and not with \`NO_COLOR\`.

## Which cloud

As for every OpenStack client: \`--os-cloud\` or \`OS_CLOUD\` names an entry of \`clouds.yaml\`, searched for in \`OS_CLIENT_CONFIG_FILE\`, the
current directory, \`~/.config/openstack\` and \`/etc/openstack\`, secrets in \`secure.yaml\`; or \`OS_AUTH_URL\` and the other variables describe
it. Where none is named, the administrator of the deployment in this checkout is meant.

## Options of many commands

${optionTable(shared)}
\`json\` and \`yaml\` hold what the API gave (\`openapi/federation.yaml\`), so they are as stable as it is. With \`--watch\`, JSON is one line for each
time it changed.

## Exit codes

${table(
  ['Code', 'Meaning'],
  (Object.keys(MEANINGS) as Ending[]).map((ending) => [
    String(EXIT_CODES[ending]),
    MEANINGS[ending],
  ]),
)}
## Commands

${leaves(program)
  .map((command) => section(command, new Set(shared.map(({ flags }) => flags))))
  .join('\n')}`
}

function sharedFlags(): readonly Option[] {
  return withWatch(withView(new Command())).options
}

/** Commands that do something, rather than gather others. */
function leaves(command: Command): readonly Command[] {
  const verbs = command.createHelp().visibleCommands(command)
  return verbs.flatMap((verb) => {
    if (verb.name() === 'help') return []
    return verb.commands.length === 0 ? [verb] : leaves(verb)
  })
}

function section(command: Command, shared: ReadonlySet<string>): string {
  const own = command.options.filter(({ flags }) => !shared.has(flags))
  const others = command.options.length > own.length
  const names: string[] = []
  for (let each: Command | null = command; each !== null; each = each.parent)
    names.unshift(each.name())
  const usage = `${names.join(' ')} ${command.usage().replace(/\[options\] ?/, '')}`.trim()
  const examples = examplesOf(command)
  return [
    `### \`${usage}\`\n\n${command.description()}\n`,
    ...(examples.length === 0 ? [] : [`\`\`\`sh\n${examples.join('\n')}\n\`\`\`\n`]),
    ...(own.length === 0 ? [] : [optionTable(own)]),
    ...(others ? [`Also: ${sharedNames(command, shared)}\n`] : []),
  ].join('\n')
}

/** Those of the cloud are in nearly every command, and named once. */
function sharedNames({ options }: Command, shared: ReadonlySet<string>): string {
  const ofCloud = new Set(withCloud(new Command()).options.map(({ flags }) => flags))
  const names = options
    .filter(({ flags }) => shared.has(flags) && !ofCloud.has(flags))
    .map(({ long }) => `\`${long}\``)
  return [...names, 'those of the cloud'].join(', ')
}

function optionTable(options: readonly Option[]): string {
  return table(
    ['Option', 'Meaning'],
    options.map(({ flags, description, argChoices }) => {
      const choices = argChoices === undefined ? '' : `: ${argChoices.join(', ')}`
      return [`\`${flags}\``, description + choices]
    }),
  )
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return line(heads) + line(heads.map(() => '---')) + rows.map(line).join('')
}
