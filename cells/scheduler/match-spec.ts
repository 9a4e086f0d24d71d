/**
 * The comparisons of a host's value with a wanted one, by the operator with which an extra spec begins (nova
 * `extra_specs_ops`). The parts of a wanted value are separated by one space.
 */
const OPERATORS: Readonly<Record<string, (value: string, wanted: string) => boolean>> = {
  // Nova's oldest operator, which means "at least".
  '=': (value, wanted) => Number(value) >= Number(wanted),
  '==': (value, wanted) => Number(value) === Number(wanted),
  '!=': (value, wanted) => Number(value) !== Number(wanted),
  '>=': (value, wanted) => Number(value) >= Number(wanted),
  '<=': (value, wanted) => Number(value) <= Number(wanted),
  's==': (value, wanted) => value === wanted,
  's!=': (value, wanted) => value !== wanted,
  's<': (value, wanted) => value < wanted,
  's<=': (value, wanted) => value <= wanted,
  's>': (value, wanted) => value > wanted,
  's>=': (value, wanted) => value >= wanted,
  '<in>': (value, wanted) => value.includes(wanted),
  '<all-in>': (value, wanted) => wanted.split(' ').every((part) => value.includes(part)),
  '<or>': (value, wanted) => wanted.split(' <or> ').includes(value),
}

/** True when the value is what an extra spec asks for: equal, or as its operator says. */
export function matchesSpec(value: string, spec: string): boolean {
  const [first = '', ...rest] = spec.trim().split(/\s+/)
  const compare = Object.hasOwn(OPERATORS, first) ? OPERATORS[first] : undefined
  return compare === undefined || rest.length === 0
    ? value === spec
    : compare(value, rest.join(' '))
}
