import { Failure } from '#common/errors.ts'
import { nearestName } from '#common/nearest-name.ts'
import { attribute, parsed, within } from './agent-xml.ts'

/** What a fence agent says of itself (FenceAgentAPI.md of fence-agents). */
export interface AgentMetadata {
  readonly parameters: readonly AgentParameter[]
  readonly actions: ReadonlySet<string>
  /** It cuts a machine off from its storage or a network, and the machine runs on. */
  readonly isFabric: boolean
}

interface AgentParameter {
  readonly name: string
  readonly isRequired: boolean
  /** Its former name, which counts as well; empty: none. */
  readonly formerName: string
  readonly isDeprecated: boolean
}

const POWER_ACTIONS = ['off', 'status'] as const
/** What the cell itself says. */
const OWN_PARAMETERS = ['action']

/** Throws `invalid` where the text is no metadata of a fence agent. */
export function readMetadata(text: string): AgentMetadata {
  const [root] = within([parsed(text)], 'resource-agent')
  if (root === undefined)
    throw new Failure('invalid', 'Its metadata has no resource-agent: it is no fence agent.')
  const actions = within([root], 'actions', 'action')
  return {
    parameters: within([root], 'parameters', 'parameter').map((parameter) => ({
      name: attribute(parameter, 'name'),
      isRequired: attribute(parameter, 'required') === '1',
      formerName: attribute(parameter, 'obsoletes'),
      isDeprecated: attribute(parameter, 'deprecated') === '1',
    })),
    actions: new Set(actions.map((each) => attribute(each, 'name'))),
    // Only a machine that is cut off, and not powered off, has to be let in again when it starts.
    isFabric: actions.some(
      (each) => attribute(each, 'name') === 'on' && attribute(each, 'automatic') === '1',
    ),
  }
}

/** Why the agent cannot fence a host with these parameters; empty: nothing is known to be wrong. */
export function problemsOf(
  { parameters, actions, isFabric }: AgentMetadata,
  given: ReadonlySet<string>,
): readonly string[] {
  if (isFabric)
    return [
      'It cuts machines off from storage or a network, and their guests run on. Use an agent that powers machines off.',
    ]
  const missing = POWER_ACTIONS.filter((action) => !actions.has(action))
  if (missing.length > 0)
    return [
      `It has no action ${missing.join(' and ')}, by which the cell makes sure that a machine is off.`,
    ]
  const known = new Set(parameters.map(({ name }) => name))
  const unknown = [...given]
    .filter((name) => !known.has(name))
    .map((name) => unknownOne(name, known))
  const absent = parameters
    .filter(({ isRequired, isDeprecated }) => isRequired && !isDeprecated)
    .filter(({ name, formerName }) => !given.has(name) && !given.has(formerName))
    .filter(({ name }) => !OWN_PARAMETERS.includes(name))
    .map(({ name }) => `It needs the parameter ${name}.`)
  return [...unknown, ...absent]
}

function unknownOne(name: string, known: ReadonlySet<string>): string {
  const near = nearestName(name, known)
  const isNear = near?.startsWith(name.slice(0, 2)) === true
  const hint = isNear ? ` Perhaps ${near} is meant.` : ''
  return `It has no parameter ${name}.${hint}`
}
