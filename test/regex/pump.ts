import type { AST } from '@eslint-community/regexpp'
import {
  BacktrackingSearch,
  type OneCharacter,
  parsed,
  TooManySteps,
  takes,
} from './backtracking.ts'

/**
 * A search through twice the text takes twice the steps where it is linear, and four times where it is quadratic. More
 * than any bound of a repetition that stands in the product: within its bound it may grow faster.
 */
const REPEATS = 300
/** Of the longer text. */
const CHARACTERS_MAX = 1_200
/** Repeated at most so often is not repeated any number of times. */
const BOUND_MAX = 255
const GROWTH_MAX = 3
const STEPS_MAX = 500_000
/** Words tried for one repeated part, and characters for one place. */
const WORDS_MAX = 12
const CHARACTERS = 'a0-_/ .:=\t\r\n,"<é'.split('')
/** What hardly any expression takes, so that it has to try everything before it gives up; and nothing. */
const ENDS = ['\u0001', '\n\u0001', '']

/** A text that makes a search slow, as its parts: `before`, `pump` any number of times, `end`. */
export interface Attack {
  readonly before: string
  readonly pump: string
  readonly end: string
  /** Undefined: too many to count. */
  readonly growth: number | undefined
}

/** The first of the texts made from the expression itself on which its search is worse than linear; undefined: none is. */
export function findAttack(source: string, flags: string): Attack | undefined {
  const pattern = parsed(source, flags)
  const words = new Words(flags, source)
  const search = new BacktrackingSearch(pattern, flags)
  for (const attempt of attempts(pattern, words)) {
    const { before, pump, end } = attempt
    const repeats = Math.min(REPEATS, Math.floor(CHARACTERS_MAX / 2 / pump.length))
    const text = (times: number) => `${before}${pump.repeat(times * repeats)}${end}`
    const growth = growthOf(search, text)
    if (growth !== 1) return { ...attempt, growth }
  }
  return undefined
}

function attempts(pattern: AST.Pattern, words: Words): readonly Omit<Attack, 'growth'>[] {
  return [...repeatedParts(pattern, words)].flatMap(({ before: led, pumps }) =>
    pumps
      .filter((pump) => pump !== '')
      .flatMap((pump) => [...new Set(['', led])].map((before) => ({ before, pump })))
      .flatMap((text) => ENDS.map((end) => ({ ...text, end }))),
  )
}

/** 1 where twice the text is no more than so many times the steps. */
function growthOf(search: BacktrackingSearch, text: (times: number) => string): number | undefined {
  try {
    const once = search.steps(text(1), STEPS_MAX)
    const twice = search.steps(text(2), STEPS_MAX)
    return twice / once > GROWTH_MAX ? twice / once : 1
  } catch (error) {
    if (error instanceof TooManySteps) return undefined
    throw error
  }
}

interface RepeatedPart {
  /** A text that leads to it. */
  readonly before: string
  readonly pumps: readonly string[]
}

/** Each part that may come any number of times, and each beginning of the whole: a search begins at every character. */
function* repeatedParts(pattern: AST.Pattern, words: Words): Generator<RepeatedPart> {
  for (const { elements } of pattern.alternatives)
    for (const [index] of elements.entries())
      yield { before: '', pumps: words.ofAll(elements.slice(0, index + 1)) }
  yield* inside(pattern.alternatives, '', words)
}

function* inside(
  alternatives: readonly AST.Alternative[],
  before: string,
  words: Words,
): Generator<RepeatedPart> {
  for (const { elements } of alternatives) {
    let led = before
    for (const element of elements) {
      const part = element.type === 'Quantifier' ? element.element : element
      if (element.type === 'Quantifier' && element.max > BOUND_MAX)
        yield { before: led, pumps: words.of(part) }
      if ('alternatives' in part) yield* inside(part.alternatives, led, words)
      led += words.of(element)[0] ?? ''
    }
  }
}

/** Texts that a part of an expression takes: a few of all there are, the same at every run. */
class Words {
  readonly #flags: string
  readonly #alphabet: readonly string[]

  constructor(flags: string, source: string) {
    this.#flags = flags
    this.#alphabet = [
      ...new Set([...source.replaceAll(/[^a-zA-Z0-9#-]/g, '').split(''), ...CHARACTERS]),
    ]
  }

  of(node: AST.Element): readonly string[] {
    switch (node.type) {
      case 'Group':
      case 'CapturingGroup':
        return few(node.alternatives.flatMap(({ elements }) => this.ofAll(elements)))
      case 'Quantifier': {
        const once = this.of(node.element)
        const least = once.map((word) => word.repeat(node.min))
        return few(node.max > node.min ? [...once, ...least] : least)
      }
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
        return this.#characters(node)
      case 'Assertion':
      case 'Backreference':
      case 'ExpressionCharacterClass':
        return ['']
    }
  }

  ofAll(elements: readonly AST.Element[]): readonly string[] {
    return elements.reduce<readonly string[]>(
      (begun, element) =>
        few(this.of(element).flatMap((word) => begun.map((start) => `${start}${word}`))),
      [''],
    )
  }

  #characters(node: OneCharacter): readonly string[] {
    if (node.type === 'Character') return [String.fromCodePoint(node.value)]
    const all = this.#alphabet.filter((character) => takes(node, this.#flags, character))
    return all.slice(0, 4)
  }
}

/** Evenly from all of them, so that the last kinds are among them, too. */
function few(words: readonly string[]): readonly string[] {
  const all = [...new Set(words)]
  if (all.length <= WORDS_MAX) return all
  return Array.from(
    { length: WORDS_MAX },
    (_, at) => all[Math.floor((at * all.length) / WORDS_MAX)]!,
  )
}
