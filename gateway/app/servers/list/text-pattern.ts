import { RE2JS } from 're2js'
import { Failure } from '#common/errors.ts'

/** A user's pattern, found anywhere in a text and in any case, as by Nova's MySQL. */
export interface TextPattern {
  /** The same as a LIKE pattern for lower-cased text; undefined when LIKE cannot say it. */
  readonly like: string | undefined
  /** In time linear to the text, for every pattern. */
  matches(text: string): boolean
}

const PATTERN_MAX = 255

/** Throws `invalid` for text that is not a pattern, needs more than linear time, or is too long. */
export function textPattern(text: string, what: string): TextPattern {
  if (text.length > PATTERN_MAX)
    throw new Failure(
      'invalid',
      `Invalid ${what}: a pattern has at most ${PATTERN_MAX} characters.`,
    )
  const compiled = compile(text, what)
  return { like: likePattern(text), matches: (value) => compiled.matcher(value).find() }
}

function compile(text: string, what: string): RE2JS {
  try {
    return RE2JS.compile(text, RE2JS.CASE_INSENSITIVE)
  } catch (cause) {
    throw new Failure(
      'invalid',
      `Invalid ${what}: '${text}' is not a pattern that the search supports.`,
      {
        cause,
      },
    )
  }
}

/** One literal, escaped or not, or a dot, with what follows it; anything else has no counterpart in LIKE. */
const TOKEN = /\\(?<escaped>[^A-Za-z0-9])|(?<any>\.\*)|(?<one>\.)|(?<literal>[^\\^$.|?*+()[\]{}])/uy

/** The LIKE pattern that finds the same in lower-cased text; undefined when there is none. */
export function likePattern(text: string): string | undefined {
  const isStart = text.startsWith('^')
  const isEnd = text.endsWith('$') && !text.endsWith('\\$')
  const body = text.slice(isStart ? 1 : 0, isEnd ? -1 : undefined)
  const parts: string[] = []
  for (let at = 0; at < body.length; ) {
    TOKEN.lastIndex = at
    const token = TOKEN.exec(body)
    if (token === null || '?*+{'.includes(body[TOKEN.lastIndex] ?? ' ')) return undefined
    parts.push(likePart(token.groups ?? {}))
    at = TOKEN.lastIndex
  }
  return `${isStart ? '' : '%'}${parts.join('')}${isEnd ? '' : '%'}`.toLowerCase()
}

function likePart({
  any,
  one,
  escaped,
  literal,
}: Readonly<Record<string, string | undefined>>): string {
  if (any !== undefined) return '%'
  if (one !== undefined) return '_'
  const character = escaped ?? literal ?? ''
  return '%_\\'.includes(character) ? `\\${character}` : character
}
