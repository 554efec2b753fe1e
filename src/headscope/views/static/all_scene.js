// Several scenes as one: the first at the left, the others beside it, one under the other.
const BETWEEN = 32;

export function sceneOfAll(scenes, title) {
  const [first, ...rest] = scenes;
  const wide = Math.max(0, ...rest.map(({ width }) => width));
  const high = rest.reduce((sum, { height }) => sum + height + BETWEEN, -BETWEEN);
  return {
    width: first.width + (rest.length ? BETWEEN + wide : 0),
    height: Math.max(first.height, high),
    title,
    draw(surface, theme, margin) {
      surface.within(0, 0, () => first.draw(surface, theme, margin));
      let y = 0;
      for (const scene of rest) {
        surface.within(first.width + BETWEEN, y, () => scene.draw(surface, theme, margin));
        y += scene.height + BETWEEN;
      }
    },
  };
}
