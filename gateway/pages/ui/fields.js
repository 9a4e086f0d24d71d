// Fields of forms. Each takes the values of the form, a function that sets some of them, and the name of its own.
import { h } from 'preact'

/** `options`: [value, text][]. */
export function Choice({ values, set, name, label, options }) {
  return h(
    'label',
    null,
    label,
    h(
      'select',
      { name, value: values[name], onChange: ({ target }) => set({ [name]: target.value }) },
      options.map(([value, text]) => h('option', { key: value, value, selected: value === values[name] }, text)),
    ),
  )
}

/** A line of text. `suggestions`: what a browser offers meanwhile. */
export function Text({ values, set, name, label, suggestions, ...more }) {
  const list = suggestions === undefined ? undefined : `${name}-suggestions`
  return h(
    'label',
    null,
    label,
    h('input', { name, list, value: values[name], onInput: ({ target }) => set({ [name]: target.value }), ...more }),
    list !== undefined && h('datalist', { id: list }, suggestions.map((each) => h('option', { key: each, value: each }))),
  )
}

/** Several texts, one a line. */
export function Lines({ values, set, name, label }) {
  return h('label', null, label, h('textarea', { name, rows: 2, value: values[name], onInput: ({ target }) => set({ [name]: target.value }) }))
}

export function Check({ values, set, name, label }) {
  return h('label', { class: 'check' }, h('input', { type: 'checkbox', name, checked: values[name], onChange: ({ target }) => set({ [name]: target.checked }) }), label)
}
