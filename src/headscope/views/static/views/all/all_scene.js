// Several scenes as one: columns side by side, with scenes below each other in each column.
const BETWEEN = 32;

export function sceneOfAll(columns, title) {
  const widths = columns.map((scenes) => Math.max(0, ...scenes.map(({ width }) => width)));
  const heights = columns.map((scenes) => scenes.reduce((sum, { height }) => sum + height + BETWEEN, -BETWEEN));
  return {
    width: widths.reduce((sum, width) => sum + width + BETWEEN, -BETWEEN),
    height: Math.max(0, ...heights),
    title,
    draw(surface, theme, margin) {
      let x = 0;
      columns.forEach((scenes, column) => {
        let y = 0;
        for (const scene of scenes) {
          surface.within(x, y, () => scene.draw(surface, theme, margin));
          y += scene.height + BETWEEN;
        }
        x += widths[column] + BETWEEN;
      });
    },
  };
}
