import { type AST, RegExpParser } from '@eslint-community/regexpp'

/** A search that took more steps than it was allowed to. */
export class TooManySteps extends Error {}

/** Matches the rest of the expression from this position; true if it matched. */
type Rest = (at: number) => boolean
type Matcher = (at: number, rest: Rest) => boolean

export function parsed(source: string, flags: string): AST.Pattern {
  const unicode = flags.includes('u')
  return new RegExpParser().parsePattern(source, 0, source.length, { unicode })
}

/** The expressions that take one character, and whether a character is one of theirs. */
export type OneCharacter = AST.Character | AST.CharacterSet | AST.CharacterClass

export function takes(node: OneCharacter, flags: string, character: string): boolean {
  const kept = flags.replaceAll(/[gymd]/g, '')
  return new RegExp(`^${node.raw}$`, kept).test(character)
}

/**
 * How many steps an engine that backtracks, as V8's does, takes to search a text: counted, not timed, so that the same
 * expression and text always give the same number. Throws `TooManySteps` above `max`. Look-behinds cost one step here.
 */
export class BacktrackingSearch {
  readonly #flags: string
  readonly #whole: Matcher
  readonly #known = new Map<string, boolean>()
  readonly #groups = new Map<AST.CapturingGroup, string>()
  #text = ''
  #steps = 0
  #max = 0

  constructor(pattern: AST.Pattern, flags: string) {
    this.#flags = flags
    this.#whole = this.#anyOf(pattern.alternatives)
  }

  steps(text: string, max: number): number {
    this.#text = text
    this.#steps = 0
    this.#max = max
    for (let at = 0; at <= text.length; at += 1) if (this.#whole(at, () => true)) break
    return this.#steps
  }

  #count(): void {
    this.#steps += 1
    if (this.#steps > this.#max) throw new TooManySteps()
  }

  #anyOf(alternatives: readonly AST.Alternative[]): Matcher {
    const matchers = alternatives.map(({ elements }) => this.#inOrder(elements))
    return (at, rest) => matchers.some((matcher) => matcher(at, rest))
  }

  #inOrder(elements: readonly AST.Element[]): Matcher {
    const matchers = elements.map((element) => this.#element(element))
    const from = (index: number, at: number, rest: Rest): boolean => {
      const matcher = matchers[index]
      return matcher === undefined ? rest(at) : matcher(at, (next) => from(index + 1, next, rest))
    }
    return (at, rest) => from(0, at, rest)
  }

  #element(node: AST.Element): Matcher {
    switch (node.type) {
      case 'Group':
        return this.#anyOf(node.alternatives)
      case 'CapturingGroup':
        return this.#capturing(node)
      case 'Quantifier':
        return this.#quantifier(node)
      case 'Assertion':
        return this.#assertion(node)
      case 'Backreference':
        return this.#backreference(node)
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
        return this.#character(node)
      case 'ExpressionCharacterClass':
        throw new Error(`Not known here: ${node.raw}`)
    }
  }

  #character(node: OneCharacter): Matcher {
    return (at, rest) => {
      this.#count()
      const character = this.#text[at]
      if (character === undefined) return false
      const key = `${node.raw}\0${character}`
      let isTaken = this.#known.get(key)
      if (isTaken === undefined) {
        isTaken = takes(node, this.#flags, character)
        this.#known.set(key, isTaken)
      }
      return isTaken && rest(at + 1)
    }
  }

  #capturing(node: AST.CapturingGroup): Matcher {
    const inner = this.#anyOf(node.alternatives)
    return (at, rest) =>
      inner(at, (end) => {
        const before = this.#groups.get(node)
        this.#groups.set(node, this.#text.slice(at, end))
        if (rest(end)) return true
        if (before === undefined) this.#groups.delete(node)
        else this.#groups.set(node, before)
        return false
      })
  }

  #backreference({ resolved }: AST.Backreference): Matcher {
    const [group] = [resolved].flat()
    return (at, rest) => {
      this.#count()
      const text = (group === undefined ? undefined : this.#groups.get(group)) ?? ''
      return this.#text.startsWith(text, at) && rest(at + text.length)
    }
  }

  #quantifier({ element, min, max, greedy }: AST.Quantifier): Matcher {
    const one = this.#element(element as AST.Element)
    const from = (times: number, at: number, rest: Rest): boolean => {
      this.#count()
      const more = () =>
        times < max && one(at, (next) => (next > at || times < min) && from(times + 1, next, rest))
      if (times < min) return more()
      return greedy ? more() || rest(at) : rest(at) || more()
    }
    return (at, rest) => from(0, at, rest)
  }

  #assertion(node: AST.Assertion): Matcher {
    if (node.kind === 'lookahead') {
      const inner = this.#anyOf(node.alternatives)
      return (at, rest) => inner(at, () => true) !== node.negate && rest(at)
    }
    // Their own engine answers these: they look at one place.
    const sticky = new RegExp(node.raw, `${this.#flags.replaceAll(/[gyd]/g, '')}y`)
    return (at, rest) => {
      this.#count()
      sticky.lastIndex = at
      return sticky.test(this.#text) && rest(at)
    }
  }
}
