/** How a value of a host stands to the one wanted, whose parts are apart by one space, by the operators that extra specs may begin with (nova `extra_specs_ops`). */
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
