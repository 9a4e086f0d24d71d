import { existsSync, readFileSync } from 'node:fs'

/** How one command of a page is typed. By default the command is typed as it stands and has to end with 0. */
export interface Step {
  /** Why it is not typed; nothing else is given then. */
  readonly notTyped?: string
  /** Typed instead: what the page leaves to its reader is filled in. Placeholders are filled in afterwards. */
  readonly typed?: string
  /** The machine at which the reader types it. */
  readonly at?: string
  /** A machine that has to be there besides: without it the step is left to the long way. */
  readonly needs?: string
  /** The exit codes that the page lets expect. */
  readonly codes?: readonly number[]
  /** What it has to write. */
  readonly shows?: RegExp
  /** It goes on until it has written this, and is then interrupted. */
  readonly until?: RegExp
  /** What later commands of the page name, by the placeholder that stands for it there; the first group, or all. */
  readonly gives?: Readonly<Record<string, RegExp>>
  /** Brings about what the page begins with here. */
  readonly before?: () => Promise<unknown>
  /** Done once it has been typed. */
  readonly after?: () => Promise<unknown>
}

/**
 * The commands of a page, in the order in which they are typed: its blocks first, then what only its text names, in the order
 * of the script.
 */
export interface PageScript {
  readonly page: string
  readonly steps: readonly (Step & { readonly line: string })[]
}

const BLOCK = /^ *```sh\n([^]*?)^ *```$/gm
const ANY_BLOCK = /^ *```[^]*?^ *```$/gm
/** In a sentence or a table: code that begins as a command does. */
const INLINE = /`((?:[A-Z_]+=\S+ )*(?:\.\/weir|openstack|curl|npm|node|kill) [^`]*)`/g
const COMMAND_LINE =
  /^ *(?:[A-Z_]+=\S+ )*(?:\.\/weir|openstack|curl|npm|node|kill|kubectl|docker|ov[ns]-\w+|systemctl|export|mkdir|cp|apt) .*$/gm
const CONTINUED = / \\\n */g
const COMMENT = / +# .*$/
/** What a page says of tests is not typed by one: they are run anyway. */
const TESTS = /^(?:[A-Z_]+=\S+ )*\.\/weir test( |$)/
const TEST_FILE = /test\/\S+\.test\.ts/g

/** How the commands of a page are typed, by the lines that stand in it. Throws for lines that the page does not have. */
export function pageScript(page: string, how: Readonly<Record<string, Step>> = {}): PageScript {
  const text = readFileSync(page, 'utf8')
  const inBlocks = Array.from(text.matchAll(BLOCK), ([, block = '']) =>
    block.replaceAll(CONTINUED, ' ').split('\n'),
  )
    .flat()
    .map((line) => line.replace(COMMENT, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  const inText = Array.from(
    text.replaceAll(ANY_BLOCK, '').matchAll(INLINE),
    ([, code = '']) => code,
  )
  assertCommandsAreTyped(page, text)
  const listed = Object.keys(how)
  const known = [...inBlocks, ...listed]
  /** One that only begins another stands for that one. */
  const isMention = (code: string) => known.some((line) => line.startsWith(`${code} `))
  const only = [...new Set(inText)].filter((code) => !inBlocks.includes(code) && !isMention(code))
  const inOrder = [...listed.filter((line) => only.includes(line)), ...only]
  const lines = [...inBlocks, ...new Set(inOrder)]
  const wrong = listed.filter((line) => !lines.includes(line))
  if (wrong.length > 0 || lines.length === 0)
    throw new Error(`${page} has no command ${wrong.join(', ')}`)
  const typed = lines.filter((line) => !isTest(line))
  return { page, steps: typed.map((line) => ({ line, ...how[line] })) }
}

/** Throws where a block that is not marked as `sh` has commands: nothing would type them. */
function assertCommandsAreTyped(page: string, text: string): void {
  const others = text.replaceAll(BLOCK, '').match(ANY_BLOCK) ?? []
  const missed = others.flatMap((block) => block.match(COMMAND_LINE) ?? [])
  if (missed.length > 0)
    throw new Error(`${page} has commands in a block without sh: ${missed.join(', ')}`)
}

/** How a page's commands about an operation are typed, which has ended by then: `cancels` is the test that cancels one. */
export function ofLastOperation(shows: RegExp, cancels: string): Readonly<Record<string, Step>> {
  const last = '$(./weir operation list -o name | head -1)'
  return {
    './weir operation show OPERATION': { typed: `./weir operation show ${last}`, shows },
    './weir operation cancel OPERATION': { notTyped: `It has ended; ${cancels} does it.` },
  }
}

/** The commands of a page that are not typed, all for one reason. */
export function notTyped(reason: string, lines: readonly string[]): Readonly<Record<string, Step>> {
  return Object.fromEntries(lines.map((line) => [line, { notTyped: reason }]))
}

/** Throws for a file that is not there. */
function isTest(line: string): boolean {
  if (!TESTS.test(line)) return false
  const missing = (line.match(TEST_FILE) ?? []).filter((file) => !existsSync(file))
  if (missing.length > 0) throw new Error(`There is no ${missing.join(', ')}.`)
  return true
}
