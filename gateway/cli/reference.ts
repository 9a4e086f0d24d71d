import { Command, type Option } from 'commander'
import { withCloud, withView, withWatch } from './api-options.ts'
import { examplesOf } from './examples.ts'
import { type Ending, EXIT_CODES } from './exit-codes.ts'

const MEANINGS: Readonly<Record<Ending, string>> = {
  ok: 'Success',
  failed: 'Failure: standard error gives the reason, and what to do',
  usage: 'Usage error',
  'not-found': 'Not found',
  partial:
    'Partial: some of the data is stale, because a cell is unreachable or a process does not run',
  'timed-out': 'Timed out while waiting; the operation continues',
  interrupted: 'Interrupted with Ctrl-C',
}

/** The page about the command line: all of what `program` knows, in the order of its help. */
export function renderReference(program: Command): string {
  const shared = sharedFlags()
  return `# Command line

This page is generated from the definitions of the commands; \`./weir <command> --help\` shows the same. Results go to standard output, and all
other text to standard error. Colours are used only on a terminal, and not with \`NO_COLOR\`.

## Which cloud

The cloud is chosen as in every OpenStack client. \`--os-cloud\` or \`OS_CLOUD\` names an entry of \`clouds.yaml\`, which is searched for in
\`OS_CLIENT_CONFIG_FILE\`, the current directory, \`~/.config/openstack\` and \`/etc/openstack\`; secrets may be in \`secure.yaml\`. Alternatively,
\`OS_AUTH_URL\` and the other variables describe the cloud. Without any of these, commands act as the administrator of the deployment in this checkout.

## Options of many commands

${optionTable(shared)}
\`json\` and \`yaml\` contain the API's answer (\`openapi/federation.yaml\`), so they are as stable as the API. With \`--watch\`, JSON output has one line for each
change.

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
  return [...names, 'the options of the cloud'].join(', ')
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
